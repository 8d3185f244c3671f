// Conversations as values: what is kept, what is sent, what a stream adds. Pure but for ids and the clock, which come in.

import type { ChatFigures, ChatMessage, ChatRole, Conversation } from "../../lib/control";

const N_TITLE_CHARS = 60;

export function newConversation(id: string, now: number, model: string | null): Conversation {
  return { id, title: "", model, instructions: "", temperature: null, created_ms: now, updated_ms: now, messages: [] };
}

export function newMessage(id: string, role: ChatRole, text: string): ChatMessage {
  return {
    id,
    role,
    text,
    reasoning: "",
    tools: [],
    images: [],
    model: null,
    figures: null,
    finish: null,
    error: null,
    notice: null,
  };
}

/** The first line of what was asked, as far as a list shows it. */
export function titleOf(conversation: Conversation): string {
  const first = conversation.messages.find((message) => message.role === "user")?.text.trim() ?? "";
  const line = first.split("\n")[0] ?? "";
  return line.length > N_TITLE_CHARS ? `${line.slice(0, N_TITLE_CHARS - 1).trimEnd()}…` : line;
}

interface Delta {
  content?: string | null;
  reasoning_content?: string | null;
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[];
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
}

export interface Chunk {
  choices?: { delta?: Delta; finish_reason?: string | null }[];
  usage?: Usage | null;
  error?: { message?: string };
}

/** Adds a chunk of the stream to the answer; tells whether it held output. */
export function take(answer: ChatMessage, chunk: Chunk): boolean {
  if (chunk.error) answer.error = chunk.error.message ?? "the server broke the answer off";
  const choice = chunk.choices?.[0];
  if (choice?.finish_reason) answer.finish = choice.finish_reason;
  const delta = choice?.delta;
  if (!delta) return false;
  answer.text += delta.content ?? "";
  answer.reasoning += delta.reasoning_content ?? "";
  for (const call of delta.tool_calls ?? []) {
    const known = (answer.tools[call.index] ??= { id: "", name: "", args: "" });
    known.id ||= call.id ?? "";
    known.name += call.function?.name ?? "";
    known.args += call.function?.arguments ?? "";
  }
  return Boolean(delta.content || delta.reasoning_content || delta.tool_calls?.length);
}

/** Decode throughput leaves the first token out: that is the prompt's time. */
export function figures(usage: Usage, ttftMs: number, totalMs: number): ChatFigures {
  const decodeS = (totalMs - ttftMs) / 1000;
  const n = usage.completion_tokens - 1;
  return {
    ttft_ms: ttftMs,
    tokens_per_second: n > 0 && decodeS > 0 ? n / decodeS : null,
    n_output: usage.completion_tokens,
    n_prompt: usage.prompt_tokens,
    n_cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

/** The conversation up to its end as the wire has it. Reasoning is not sent back: templates drop it. */
export function wireMessages(conversation: Conversation): unknown[] {
  const system = conversation.instructions.trim();
  const head = system ? [{ role: "system", content: system }] : [];
  const said = conversation.messages.filter((message) => message.text || message.images.length > 0);
  return [...head, ...said.map(wireMessage)];
}

function wireMessage(message: ChatMessage): unknown {
  if (message.images.length === 0) return { role: message.role, content: message.text };
  const images = message.images.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role: message.role, content: [...images, { type: "text", text: message.text }] };
}

/** As a document that people read. */
export function asMarkdown(conversation: Conversation, names: { user: string; assistant: string }): string {
  const parts = conversation.messages.map((message) => {
    const name = message.role === "user" ? names.user : (message.model ?? names.assistant);
    const calls = message.tools.map((call) => `\n\n\`${call.name}(${call.args})\``).join("");
    return `## ${name}\n\n${message.text}${calls}\n`;
  });
  return `# ${conversation.title}\n\n${parts.join("\n")}`;
}

/** Whether all words stand somewhere in it. */
export function holds(conversation: Conversation, words: string): boolean {
  const text = [conversation.title, ...conversation.messages.map((message) => message.text)].join("\n").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
