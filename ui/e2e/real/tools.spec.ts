import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { SettingsAnswer } from "../../src/lib/control";
import { expect, open, seriousFaults, settled, test } from "./fixtures";
import { MODEL, type Server } from "./server";

/** An MCP server with one tool, which writes down that it was called. */
const SCRIPT = resolve("../crates/app/tests/mcp/server.py");

/** A program's call, in which the model must call the tool first. */
async function ask(server: Server): Promise<number> {
  const choice = { type: "function", function: { name: "here__look" } };
  const messages = [{ role: "user", content: "How is the sea?" }];
  const body = { model: MODEL, max_tokens: 40, temperature: 0, tool_choice: choice, messages };
  const headers = { "content-type": "application/json", "x-tokbar-tools": "here" };
  const reply = await fetch(`${server.origin}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
  await reply.text();
  return reply.status;
}

test("a call of a tool waits until a person says whether it may run", async ({ page, ownServer }) => {
  const { server } = ownServer;
  const [config, log] = [join(server.home, "mcp.json"), join(server.home, "calls")];
  writeFileSync(config, JSON.stringify({ mcpServers: { here: { command: "python3", args: [SCRIPT, log] } } }));
  await open(page, server, "settings");
  await settled(page);
  const field = page.getByRole("textbox", { name: "MCP servers" });
  await field.fill(config);
  await field.press("Enter");
  await expect.poll(async () => (await server.get<SettingsAnswer>("settings")).settings.mcp.config).toBe(config);

  const next = await server.again();
  ownServer.server = next;
  await next.post("models/settings", { model: MODEL, tool_format: "hermes" }, "PATCH");
  await next.post("models/load", { model: MODEL });
  await open(page, next, "now");
  await settled(page);
  const question = page.getByRole("region", { name: "A model wants to call here__look" });
  for (const { word, runs } of [{ word: "Deny", runs: false }, { word: "Allow once", runs: true }]) {
    const answered = ask(next);
    await expect(question).toContainText('"at": "sea"');
    expect(await seriousFaults(page)).toEqual([]);
    await question.getByRole("button", { name: word }).click();
    await expect(question).toHaveCount(0);
    expect(await answered).toBe(200);
    expect(existsSync(log), word).toBe(runs);
  }

  await page.goto(`${next.origin}/#/settings`);
  await settled(page);
  await expect(page.getByRole("list", { name: "MCP servers" })).toContainText("here");
  await expect(page.getByRole("list", { name: "MCP servers" })).toContainText("look");
  const tool = page.getByRole("textbox", { name: "Allow a tool" });
  await tool.fill("here__*");
  await tool.press("Enter");
  await expect.poll(async () => (await next.get<SettingsAnswer>("settings")).settings.mcp.allow).toEqual(["here__*"]);
  await page.getByRole("button", { name: "Ask before here__* again" }).click();
  await expect.poll(async () => (await next.get<SettingsAnswer>("settings")).settings.mcp.allow).toEqual([]);
});
