import { expect, test } from "vitest";

import { newConversation, newMessage } from "./conversation";
import { MemoryStore } from "./store";

test("conversations are kept as they were, listed anew first, found by words", async () => {
  const store = new MemoryStore();
  const old = { ...newConversation("a", 1, null), title: "old cats", messages: [newMessage("1", "user", "about cats")] };
  await store.put(old);
  await store.put({ ...newConversation("b", 2, null), title: "new dogs" });
  old.title = "changed later";
  expect((await store.list("")).map((entry) => entry.title)).toEqual(["new dogs", "old cats"]);
  expect((await store.list("about cats")).map((entry) => entry.id)).toEqual(["a"]);
  expect(await store.list("birds")).toEqual([]);
  expect((await store.get("a"))?.title).toBe("old cats");
  await store.delete("a");
  expect(await store.get("a")).toBeNull();
});
