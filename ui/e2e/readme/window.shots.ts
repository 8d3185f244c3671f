import { expect, open, settled, steadily, test } from "../real/fixtures";
import { MODEL, type Server } from "../real/server";

const FOLDER = process.env["TOKBAR_SHOTS"] ?? "shots";
const CALLERS = [
  { agent: "review/1.0", path: "/v1/messages", words: "Write a very long story about a lighthouse keeper." },
  { agent: "notes/1.0", path: "/v1/chat/completions", words: "List one hundred animals, one a line." },
];

/** Asks as a program would; whoever ends the signal has heard enough. */
async function call(server: Server, { agent, path, words }: (typeof CALLERS)[number], signal: AbortSignal): Promise<void> {
  const body = { model: MODEL, max_tokens: 4000, temperature: 0, stream: true, messages: [{ role: "user", content: words }] };
  const headers = { "content-type": "application/json", "user-agent": agent, "anthropic-version": "2023-06-01" };
  const reply = await fetch(server.origin + path, { method: "POST", headers, body: JSON.stringify(body), signal });
  await reply.text();
}

test("chat", async ({ page, loaded }) => {
  await open(page, loaded, "chat");
  await settled(page);
  await steadily(page);
  for (const words of ["What is the capital of France?", "Explain in three short points why the sky is blue."]) {
    await page.getByRole("textbox", { name: "Message" }).fill(words);
    await page.getByRole("textbox", { name: "Message" }).press("Enter");
    await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 120_000 });
  }
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${FOLDER}/chat.png`, animations: "disabled" });
});

test("now", async ({ page, loaded }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, loaded, "now");
  await settled(page);
  const enough = new AbortController();
  const calls: Promise<void>[] = [];
  for (const caller of CALLERS) {
    calls.push(call(loaded, caller, enough.signal).catch(() => undefined));
    await page.waitForTimeout(15_000);
  }
  await expect(page.getByRole("row")).toHaveCount(1 + CALLERS.length);
  await page.waitForTimeout(25_000);
  await page.screenshot({ path: `${FOLDER}/now.png`, animations: "disabled" });
  enough.abort();
  await Promise.all(calls);
});
