import type { Page } from "@playwright/test";

import type { Conversation, ConversationList } from "../../src/lib/control";
import { expect, open, seriousFaults, settled, steadily, test } from "./fixtures";
import type { Server } from "./server";

async function ask(page: Page, text: string): Promise<void> {
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill(text);
  await message.press("Enter");
}

async function forgetAll(server: Server): Promise<void> {
  const { conversations } = await server.get<ConversationList>("conversations");
  for (const { id } of conversations) await server.delete(`conversations/${id}`);
}

const done = (page: Page) => expect(page.getByRole("button", { name: "Answer again" })).toBeVisible();

test("stop, answer again, edit, search, reload, export and delete", async ({ page, loaded }) => {
  await forgetAll(loaded);
  await open(page, loaded, "chat");
  await settled(page);
  await steadily(page);
  await ask(page, "Count from one to two hundred in words.");
  const answer = page.getByRole("article").nth(1);
  await expect(answer).toContainText(/[a-z]{3}/i);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(answer).toContainText("Stopped");
  await expect.poll(async () => (await loaded.get<{ requests: unknown[] }>("requests")).requests.length).toBe(0);

  await page.getByRole("article").first().hover();
  await page.getByRole("button", { name: "Edit" }).click();
  const edit = page.getByRole("textbox", { name: "Edit" });
  await edit.fill("Say hello in one word.");
  await edit.press("Enter");
  await expect(page.getByRole("article")).toHaveCount(2);
  await done(page);
  expect(await seriousFaults(page)).toEqual([]);
  const first = await answer.innerText();
  await page.getByRole("button", { name: "Answer again" }).click();
  await done(page);
  expect(first.trim()).not.toBe("");
  await expect(page.getByRole("article")).toHaveCount(2);

  await page.reload();
  await expect(page.getByText("Say hello in one word.").first()).toBeVisible();
  await page.getByRole("searchbox", { name: "Search chats" }).fill("nowhere to be found");
  await expect(page.getByText("No chat holds these words.")).toBeVisible();
  await page.getByRole("searchbox", { name: "Search chats" }).fill("hello");
  await expect(page.getByRole("listitem").filter({ hasText: "Say hello" })).toBeVisible();

  const saved = page.waitForEvent("download");
  await page.getByRole("combobox", { name: "Export" }).selectOption("markdown");
  expect((await saved).suggestedFilename()).toBe("Say hello in one word.md");

  await page.getByRole("listitem").filter({ hasText: "Say hello" }).hover();
  await page.getByRole("button", { name: /^Delete/ }).click();
  await page.getByRole("searchbox", { name: "Search chats" }).fill("");
  await expect(page.getByText("Your chats are kept here, on this Mac only.")).toBeVisible();
});

test("what a model writes runs nothing and fetches nothing", async ({ page, loaded, faults }) => {
  const outside: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(loaded.origin)) outside.push(request.url());
  });
  await open(page, loaded, "chat");
  await settled(page);
  await page.evaluate(async () => {
    const text = [
      "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>",
      "![pixel](http://127.0.0.1:9/pixel.png) [link](javascript:window.pwned=3)",
      "<svg/onload=window.pwned=4><style>body{display:none}</style>",
      "```html\n</code></pre><img src=x onerror=window.pwned=5>\n```",
    ].join("\n\n");
    const plain = { reasoning: "", tools: [], images: [], figures: null, error: null, notice: null, finish: "stop" };
    const messages = [
      { ...plain, id: "1", role: "user", text: "attack", model: null },
      { ...plain, id: "2", role: "assistant", text, model: "m" },
    ];
    const one = { id: "bad", title: "attack", model: null, instructions: "", temperature: null, created: 1, updated: 1, messages };
    const database = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("tokbar", 1);
      request.onsuccess = () => resolve(request.result);
    });
    const transaction = database.transaction("conversations", "readwrite");
    transaction.objectStore("conversations").put(one);
    await new Promise((resolve) => (transaction.oncomplete = resolve));
  });
  await page.goto(`${loaded.origin}/#/chat/bad`);
  await page.reload();
  const answer = page.getByRole("article").nth(1);
  await expect(answer.locator("pre")).toContainText("onerror");
  await answer.getByText("link").click();
  expect(await page.evaluate(() => Reflect.get(window, "pwned"))).toBeUndefined();
  await expect(answer.locator("img, script, style, svg[onload]")).toHaveCount(0);
  expect(outside).toEqual([]);
  expect(faults).toEqual([]);
  // What the browser held before has moved to Tokbar's own database.
  await expect.poll(async () => (await loaded.get<Conversation>("conversations/bad")).updated_ms).toBe(1);
});

test("a chat is there at another address, and one that could not be kept is not lost", async ({ page, loaded, faults }) => {
  await forgetAll(loaded);
  await open(page, loaded, "chat");
  await settled(page);
  await steadily(page);
  await page.route("**/control/v1/conversations/*", (route) => (route.request().method() === "PUT" ? route.abort() : route.continue()));
  await ask(page, "Say hello in one word.");
  await done(page);
  const notice = page.getByRole("status").filter({ hasText: "Not kept yet." });
  await expect(notice).toContainText("Tokbar does not answer");
  expect(await seriousFaults(page)).toEqual([]);
  await page.reload();
  await expect(page.getByRole("article")).toHaveCount(2);
  await expect(notice).toBeVisible();
  await page.unroute("**/control/v1/conversations/*");
  await notice.getByRole("button", { name: "Try again" }).click();
  await expect(notice).toHaveCount(0);

  const other = loaded.link.replace(/127\.0\.0\.1|localhost/, (host) => (host === "localhost" ? "127.0.0.1" : "localhost"));
  await page.goto(other);
  await page.evaluate(() => localStorage.setItem("tokbar.welcomed", "1"));
  await page.goto(`${new URL(other).origin}/#/chat`);
  await page.getByRole("listitem").filter({ hasText: "Say hello" }).getByRole("button").first().click();
  await expect(page.getByRole("article")).toHaveCount(2);
  expect(faults).toEqual([]);
});

test("nothing moves while an answer comes but the answer's end", async ({ page, loaded }) => {
  await open(page, loaded, "chat");
  await settled(page);
  await steadily(page);
  await ask(page, "Write three short sentences about rain.");
  const answer = page.getByRole("article").nth(1);
  await expect(answer).toContainText(/[a-z]{3}/i);
  const places = () =>
    page.evaluate(() => ["article", "textarea", "header"].map((name) => document.querySelector(`main ${name}`)?.getBoundingClientRect().top));
  const before = await places();
  await done(page);
  const [, ...fixed] = await places();
  expect(fixed).toEqual(before.slice(1));
});
