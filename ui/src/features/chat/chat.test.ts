import { expect, test } from "vitest";

import { Client } from "../../api/client";
import { Chat } from "./chat.svelte";
import { MemoryStore } from "./store";

const session = { token: null, shell: "browser", base: "" } as const;
const END = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\ndata: [DONE]\n\n';

function chunk(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
}

/** Answers each call with a body, and notes what was asked. */
function chatWith(bodies: string[]) {
  const asked: { messages: { content: string }[] }[] = [];
  const client = new Client(session, (_url, init) => {
    asked.push(JSON.parse(String(init?.body)));
    return Promise.resolve(new Response(bodies.shift() ?? "", { headers: { "content-type": "text/event-stream" } }));
  });
  const store = new MemoryStore();
  return { chat: new Chat(client, store), store, asked };
}

const texts = (chat: Chat) => chat.conversation.messages.map((message) => message.text);

test("an answer comes, is measured and kept", async () => {
  const { chat, store } = chatWith([chunk("Good ") + chunk("day") + END]);
  await chat.send("hi", [], "m");
  expect(texts(chat)).toEqual(["hi", "Good day"]);
  expect(chat.conversation.messages[1]).toMatchObject({ finish: "stop", model: "m", figures: { nOutput: 2, nPrompt: 5 } });
  expect(chat.isAnswering).toBe(false);
  expect((await store.get(chat.conversation.id))?.messages[1]?.text).toBe("Good day");
  expect((await store.list(""))[0]?.title).toBe("hi");
});

test("answering again and editing leave out what they replace", async () => {
  const { chat, asked } = chatWith([chunk("one") + END, chunk("two") + END, chunk("three") + END]);
  await chat.send("hi", [], "m");
  await chat.again("m");
  expect(texts(chat)).toEqual(["hi", "two"]);
  const first = chat.conversation.messages[0];
  await chat.edit(first?.id ?? "", "hello", "m");
  expect(texts(chat)).toEqual(["hello", "three"]);
  expect(asked.map((body) => body.messages.map((message) => message.content))).toEqual([["hi"], ["hi"], ["hello"]]);
});

test("stopping keeps what has come", async () => {
  const client = new Client(session, (_url, init) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(chunk("so far")));
        init?.signal?.addEventListener("abort", () => controller.error(new DOMException("stopped", "AbortError")));
      },
    });
    return Promise.resolve(new Response(body));
  });
  const store = new MemoryStore();
  const chat = new Chat(client, store);
  const sent = chat.send("hi", [], "m");
  await expect.poll(() => texts(chat)[1]).toBe("so far");
  expect(chat.isAnswering).toBe(true);
  chat.stop();
  await sent;
  expect(chat.isAnswering).toBe(false);
  expect((await store.get(chat.conversation.id))?.messages[1]).toMatchObject({ text: "so far", finish: "stopped", error: null });
});

test("a refusal is shown in the answer's place", async () => {
  const client = new Client(session, () =>
    Promise.resolve(Response.json({ error: { message: "no room: unload a model" } }, { status: 507 })),
  );
  const chat = new Chat(client, new MemoryStore());
  await chat.send("hi", [], "m");
  expect(chat.conversation.messages[1]).toMatchObject({ text: "", error: "no room: unload a model" });
  expect(chat.isAnswering).toBe(false);
});
