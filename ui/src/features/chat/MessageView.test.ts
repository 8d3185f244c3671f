import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";

import { conversations } from "../../../e2e/stage/conversation";
import MessageView from "./MessageView.svelte";
import { newMessage } from "./conversation";

const plain = { isLast: true, isComing: false, waiting: "Waiting for the first token", again: () => undefined, edit: () => undefined };

test("an answer shows text, reasoning, calls and figures", () => {
  const message = conversations[0]?.messages[1];
  if (!message) throw new Error("the data has no answer");
  render(MessageView, { ...plain, message });
  expect(screen.getByText("Reasoning")).toBeTruthy();
  expect(screen.getByText("Calls search_code")).toBeTruthy();
  expect(screen.getByText(/61 tok\/s · first token 0.14 s · 214 tokens · 94 % from cache/)).toBeTruthy();
  expect(screen.getByRole("button", { name: "Answer again" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Copy code" })).toBeTruthy();
});

test("before the first token it says what it waits for, and offers nothing to copy", () => {
  render(MessageView, { ...plain, isComing: true, message: newMessage("1", "assistant", "") });
  expect(screen.getByText("Waiting for the first token")).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});

test("an error is an alert with its own words", () => {
  render(MessageView, { ...plain, message: { ...newMessage("1", "assistant", ""), error: "no room: unload a model" } });
  expect(screen.getByRole("alert").textContent).toContain("no room: unload a model");
});

test("a question can be edited", async () => {
  const edited: string[] = [];
  render(MessageView, { ...plain, edit: (text: string) => edited.push(text), message: newMessage("1", "user", "hi") });
  screen.getByRole("button", { name: "Edit" }).click();
  const area = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: "Edit" });
  area.value = "hello";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await expect.poll(() => edited).toEqual(["hello"]);
});
