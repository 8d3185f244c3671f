import { expect, test } from "vitest";

import { asMarkdown, figures, holds, newConversation, newMessage, take, titleOf, wireMessages, type Chunk } from "./conversation";

function delta(delta: NonNullable<NonNullable<Chunk["choices"]>[number]["delta"]>): Chunk {
  return { choices: [{ delta }] };
}

test("chunks add up to text, reasoning and calls", () => {
  const answer = newMessage("1", "assistant", "");
  const chunks: Chunk[] = [
    { choices: [{ delta: {} }] },
    delta({ reasoning_content: "think" }),
    delta({ content: "Good " }),
    delta({ content: "day" }),
    delta({ tool_calls: [{ index: 0, id: "c", function: { name: "find", arguments: "" } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
    { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
    { choices: [] },
  ];
  expect(chunks.map((chunk) => take(answer, chunk))).toEqual([false, true, true, true, true, true, true, false, false]);
  expect(answer).toMatchObject({ text: "Good day", reasoning: "think", finish: "tool_calls", tools: [{ id: "c", name: "find", args: '{"a":1}' }] });
});

test("an error amid the stream is kept with what came before", () => {
  const answer = newMessage("1", "assistant", "so far");
  take(answer, { error: { message: "the model was unloaded" } });
  expect(answer).toMatchObject({ text: "so far", error: "the model was unloaded" });
});

test("decode throughput leaves the prompt's time out", () => {
  const usage = { prompt_tokens: 100, completion_tokens: 11, prompt_tokens_details: { cached_tokens: 60 } };
  expect(figures(usage, 1000, 3000)).toEqual({ ttft_ms: 1000, tokens_per_second: 5, n_output: 11, n_prompt: 100, n_cached: 60 });
  expect(figures({ prompt_tokens: 1, completion_tokens: 1 }, 5, 5).tokens_per_second).toBeNull();
});

test("the wire holds instructions, images and no reasoning", () => {
  const conversation = newConversation("c", 0, null);
  conversation.instructions = " Be brief. ";
  const asked = { ...newMessage("1", "user", "what is it?"), images: ["data:image/png;base64,AA=="] };
  const empty = newMessage("2", "assistant", "");
  conversation.messages = [asked, { ...newMessage("3", "assistant", "a cat"), reasoning: "hm" }, empty];
  expect(wireMessages(conversation)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }, { type: "text", text: "what is it?" }] },
    { role: "assistant", content: "a cat" },
  ]);
});

test("titles are one short line", () => {
  const conversation = newConversation("c", 0, null);
  expect(titleOf(conversation)).toBe("");
  conversation.messages = [newMessage("1", "user", `  ${"long ".repeat(40)}\nsecond`)];
  expect(titleOf(conversation)).toHaveLength(60);
  conversation.messages = [newMessage("1", "user", "short\nsecond")];
  expect(titleOf(conversation)).toBe("short");
});

test("search wants every word, export has every message", () => {
  const conversation = { ...newConversation("c", 0, null), title: "Cats" };
  conversation.messages = [newMessage("1", "user", "About Cats"), { ...newMessage("2", "assistant", "They purr"), model: "m" }];
  expect([holds(conversation, "purr CATS"), holds(conversation, "cats dogs")]).toEqual([true, false]);
  expect(asMarkdown(conversation, { user: "You", assistant: "Model" })).toBe("# Cats\n\n## You\n\nAbout Cats\n\n## m\n\nThey purr\n");
});
