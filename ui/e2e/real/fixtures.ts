// What all specs share: servers, pages that watch for faults, and axe.

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";

import { Hub } from "./hub";
import { MODEL, Server } from "./server";

/** A server whose Hub is on this machine. */
interface Shop {
  server: Server;
  hub: Hub;
}

interface Workers {
  /** Nothing on disk. */
  empty: Server;
  /** A model on disk. */
  stocked: Server;
  /** The same with the model loaded. */
  loaded: Server;
  /** Nothing on disk, but a Hub. */
  shopping: Shop;
}

interface Tests {
  faults: string[];
  /** The same, new and of its own. */
  newcomer: Shop;
  /** A server of its own with a model on disk; a test may put another in its place. */
  ownServer: { server: Server };
}

export const test = base.extend<Tests, Workers>({
  empty: [async ({}, use) => serve("none", use), { scope: "worker" }],
  stocked: [async ({}, use) => serve("one", use), { scope: "worker" }],
  loaded: [
    async ({}, use) =>
      serve("one", async (server) => {
        await server.post("models/load", { model: MODEL });
        await use(server);
      }),
    { scope: "worker", timeout: 120_000 },
  ],
  shopping: [async ({}, use) => shop(use), { scope: "worker" }],
  newcomer: async ({}, use) => shop(use),
  ownServer: async ({}, use) => {
    const own = { server: await Server.start("one") };
    await use(own);
    await own.server.stop();
  },
  /** Errors of the page's scripts, and what its policy forbade. */
  faults: [
    async ({ page }, use) => {
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      page.on("console", (message) => {
        const text = message.text();
        if (message.type() === "error" && !text.includes("Failed to load resource")) faults.push(text);
      });
      await use(faults);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

async function serve(models: "none" | "one", use: (server: Server) => Promise<void>): Promise<void> {
  const server = await Server.start(models);
  await use(server);
  await server.stop();
}

async function shop(use: (shop: Shop) => Promise<void>): Promise<void> {
  const hub = await Hub.start(process.env["TOKBAR_MODEL"] ?? "");
  const server = await Server.start("none", { hub: hub.endpoint });
  await use({ server, hub });
  await server.stop();
  await hub.stop();
}

/** Opens a panel as somebody who has seen the welcome. */
export async function open(page: Page, server: Server, panel: string): Promise<void> {
  await page.goto(server.link);
  await page.evaluate(() => localStorage.setItem("tokbar.welcomed", "1"));
  await page.goto(`${server.origin}/#/${panel}`);
  await page.reload();
}

/** Until nothing is being fetched. */
export async function settled(page: Page): Promise<void> {
  await expect(page.locator("h1").first()).toBeVisible();
  await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
}

/** Answers of this chat are the likeliest words, the same every time: what is drawn at random may never end. */
export async function steadily(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Instructions" }).press("Enter");
  await page.getByRole("textbox", { name: "Temperature" }).fill("0");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
}

/** What axe calls serious or critical. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
