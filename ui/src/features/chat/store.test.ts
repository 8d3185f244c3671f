import { expect, test } from "vitest";

import { Desk } from "../../../e2e/stage/desk";
import { Failure } from "../../api/client";
import { newConversation, newMessage } from "./conversation";
import { ServerStore } from "./store";
import { InMemory, renamed } from "./waiting";

const OFFLINE = new Failure("Tokbar does not answer", 0);

function open() {
  const [desk, waiting] = [new Desk(), new InMemory()];
  return { desk, waiting, store: new ServerStore(desk, waiting) };
}

const titled = (id: string, updated: number, title: string) => ({ ...newConversation(id, updated, null), title });

test("conversations are kept as they were, listed the newest first, found by words", async () => {
  const { store } = open();
  const old = { ...titled("a", 1, "old cats"), messages: [newMessage("1", "user", "about cats")] };
  expect(await store.put(old)).toBeNull();
  await store.put(titled("b", 2, "new dogs"));
  old.title = "changed later";
  const titles = async (words: string) => (await store.list(words)).conversations.map((entry) => entry.title);
  expect(await titles("")).toEqual(["new dogs", "old cats"]);
  expect(await titles("about cats")).toEqual(["old cats"]);
  expect(await titles("birds")).toEqual([]);
  expect((await store.get("a"))?.title).toBe("old cats");
  await store.delete("a");
  await store.delete("a");
  expect(await store.get("a")).toBeNull();
});

test("what the server does not take waits, is shown, and goes there once it does", async () => {
  const { desk, waiting, store } = open();
  desk.trouble = OFFLINE;
  expect(await store.put(titled("a", 5, "while offline"))).toBe("Tokbar does not answer");
  expect((await store.get("a"))?.title).toBe("while offline");
  expect(await store.flush()).toBe("Tokbar does not answer");
  desk.trouble = null;
  expect((await store.list("offline")).conversations).toMatchObject([{ id: "a", n_messages: 0 }]);
  expect(await store.flush()).toBeNull();
  expect(desk.kept.get("a")?.title).toBe("while offline");
  expect(await waiting.all()).toEqual([]);
});

test("one that is refused does not hold up the others", async () => {
  const { desk, waiting, store } = open();
  await waiting.put(titled("long", 1, "refused"));
  await waiting.put(titled("short", 2, "taken"));
  const keep = desk.keep;
  desk.keep = (one) => (one.id === "long" ? Promise.reject(new Failure("too long: begin a new one", 400)) : keep(one));
  expect(await store.flush()).toBe("too long: begin a new one");
  expect([...desk.kept.keys()]).toEqual(["short"]);
  expect((await waiting.all()).map((one) => one.id)).toEqual(["long"]);
});

test("what another window has gone on with is not undone", async () => {
  const { desk, waiting, store } = open();
  await desk.keep(titled("a", 9, "newer"));
  await waiting.put(titled("a", 5, "older"));
  expect(await store.flush()).toBeNull();
  expect(desk.kept.get("a")?.title).toBe("newer");
  expect(await waiting.all()).toEqual([]);
});

test("an entry of an earlier version is read", () => {
  const figures = { ttftMs: 140, tokensPerSecond: null, nOutput: 2, nPrompt: 5, nCached: 1 };
  const { created_ms: _, updated_ms: __, ...rest } = newConversation("a", 0, "m");
  const early = { ...rest, created: 1, updated: 2, messages: [{ ...newMessage("1", "assistant", "hi"), figures }, newMessage("2", "user", "so")] };
  const now = renamed(early as Parameters<typeof renamed>[0]);
  expect(now).toMatchObject({ id: "a", created_ms: 1, updated_ms: 2, model: "m" });
  expect(Object.keys(now).toSorted()).toEqual(Object.keys(newConversation("a", 0, "m")).toSorted());
  expect(now.messages.map((message) => message.figures)).toEqual([
    { ttft_ms: 140, tokens_per_second: null, n_output: 2, n_prompt: 5, n_cached: 1 },
    null,
  ]);
});
