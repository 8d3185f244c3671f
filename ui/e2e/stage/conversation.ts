// A conversation to look at.

import type { ChatMessage, Conversation } from "../../src/lib/control";

const MODEL = "mlx-community/Qwen3.5-9B-4bit";

function said(id: string, role: ChatMessage["role"], text: string, change: Partial<ChatMessage> = {}): ChatMessage {
  return { id, role, text, reasoning: "", tools: [], images: [], model: role === "assistant" ? MODEL : null, figures: null, finish: "stop", error: null, notice: null, ...change };
}

const ANSWER = `A **KV cache** keeps the keys and values of every token that the model has read, so that they are computed once.

1. The prompt is read in *chunks*, and each layer stores its keys and values.
2. Each new token only attends to what is stored.
3. A later prompt that begins the same way **starts where it differs**.

\`\`\`rust
let hit = tree.longest_prefix(&prompt);
let todo = &prompt[hit.n_tokens..];
\`\`\`

| Prompt | From cache | First token |
|---|--:|--:|
| 6,604 tokens | 6,212 | 0.14 s |
| 18,802 tokens | 17,920 | 0.31 s |
`;

const AT = Date.parse("2026-12-02T13:55:00Z");

export const conversations: Conversation[] = [
  {
    id: "c1", title: "Explain what a KV cache does", model: MODEL, instructions: "", temperature: null, created_ms: AT, updated_ms: AT,
    messages: [
      said("1", "user", "Explain what a KV cache does, with a small example"),
      said("2", "assistant", ANSWER, {
        reasoning: "The person wants an explanation with an example.",
        tools: [{ id: "t", name: "search_code", args: '{"query":"longest_prefix"}' }],
        figures: { ttft_ms: 140, tokens_per_second: 61, n_output: 214, n_prompt: 6604, n_cached: 6212 },
      }),
    ],
  },
  { id: "c2", title: "Plan for the weekend in Kyoto", model: MODEL, instructions: "", temperature: null, created_ms: AT, updated_ms: AT - 5e6, messages: [said("3", "user", "Plan a weekend in Kyoto")] },
  { id: "c3", title: "Find the ten largest files", model: MODEL, instructions: "", temperature: null, created_ms: AT, updated_ms: AT - 9e7, messages: [said("4", "user", "largest files")] },
];
