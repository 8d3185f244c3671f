import { expect, test } from "vitest";

import { Desk } from "../../../e2e/stage/desk";
import { Client, Failure } from "../../api/client";
import { Chat } from "./chat.svelte";
import { ServerStore } from "./store";
import { InMemory } from "./waiting";

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
  const desk = new Desk();
  return { chat: new Chat(client, new ServerStore(desk, new InMemory())), desk, asked };
}

const texts = (chat: Chat) => chat.conversation.messages.map((message) => message.text);

test("an answer comes, is measured and kept", async () => {
  const { chat, desk } = chatWith([chunk("Good ") + chunk("day") + END]);
  await chat.send("hi", [], "m");
  expect(texts(chat)).toEqual(["hi", "Good day"]);
  expect(chat.conversation.messages[1]).toMatchObject({ finish: "stop", model: "m", figures: { n_output: 2, n_prompt: 5 } });
  expect(chat.isAnswering).toBe(false);
  expect(desk.kept.get(chat.conversation.id)?.messages[1]?.text).toBe("Good day");
  expect(chat.entries.value?.conversations[0]?.title).toBe("hi");
  expect(chat.unkept).toBeNull();
});

test("an answer that cannot be kept is not lost, and is kept as soon as it can be", async () => {
  const { chat, desk } = chatWith([chunk("Good ") + chunk("day") + END]);
  desk.trouble = new Failure("the disk is full", 507);
  await chat.send("hi", [], "m");
  expect(texts(chat)).toEqual(["hi", "Good day"]);
  expect(chat.unkept).toBe("the disk is full");
  const { id } = chat.conversation;
  chat.start(null);
  expect(await chat.open(id)).toBe(true);
  expect(texts(chat)).toEqual(["hi", "Good day"]);
  desk.trouble = null;
  await chat.flush();
  expect(chat.unkept).toBeNull();
  expect(desk.kept.get(id)?.messages[1]?.text).toBe("Good day");
});

test("an answer that ends after its chat was deleted does not bring it back", async () => {
  let end = () => {};
  const client = new Client(session, () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        end = () => {
          controller.enqueue(new TextEncoder().encode(chunk("late") + END));
          controller.close();
        };
      },
    });
    return Promise.resolve(new Response(body));
  });
  const desk = new Desk();
  const chat = new Chat(client, new ServerStore(desk, new InMemory()));
  const sent = chat.send("hi", [], "m");
  await expect.poll(() => desk.kept.size).toBe(1);
  await chat.delete(chat.conversation.id);
  end();
  await sent;
  expect(desk.kept.size).toBe(0);
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
  const desk = new Desk();
  const chat = new Chat(client, new ServerStore(desk, new InMemory()));
  const sent = chat.send("hi", [], "m");
  await expect.poll(() => texts(chat)[1]).toBe("so far");
  expect(chat.isAnswering).toBe(true);
  chat.stop();
  await sent;
  expect(chat.isAnswering).toBe(false);
  expect(desk.kept.get(chat.conversation.id)?.messages[1]).toMatchObject({ text: "so far", finish: "stopped", error: null });
});

test("a refusal is shown in the answer's place", async () => {
  const client = new Client(session, () =>
    Promise.resolve(Response.json({ error: { message: "no room: unload a model" } }, { status: 507 })),
  );
  const chat = new Chat(client, new ServerStore(new Desk(), new InMemory()));
  await chat.send("hi", [], "m");
  expect(chat.conversation.messages[1]).toMatchObject({ text: "", error: "no room: unload a model" });
  expect(chat.isAnswering).toBe(false);
});
