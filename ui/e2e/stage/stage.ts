// Puts the built page before a stage: each call of the control API is answered from data. For pictures, not for tests.

import type { Page, Route } from "@playwright/test";

import { conversations } from "./conversation";
import * as data from "./data";

const sse = (event: string, values: readonly unknown[]) => values.map((value) => `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`).join("");

function answers(): Record<string, unknown> {
  return {
    status: data.status,
    models: data.shelf,
    "models/one": data.detail,
    places: { places: data.places },
    transfers: { transfers: data.live.transfers },
    settings: { settings: data.settings, needs_restart: [], path: "~/Library/Application Support/Tokbar/settings.json" },
    keys: { keys: data.keys },
    conversations: { conversations: conversations.map((one) => ({ ...one, n_messages: one.messages.length })), n_kept: 3, note: null },
    ...Object.fromEntries(conversations.map((one) => [`conversations/${one.id}`, one])),
    clients: { clients: data.clients },
    "clients/one": data.plan,
    bench: data.bench,
    cache: data.disk,
    tools: data.tools,
    "cloud/key": { is_kept: true, path: null },
    doctor: { findings: data.findings },
  };
}

export interface Scene {
  language: "en" | "zh-Hans";
  /** Nothing loaded, nothing on its way: the first run. */
  isNew: boolean;
  /** A call of a tool waits for a word. */
  isAsked: boolean;
  /** The page is in the app's window, which has an update. */
  isApp: boolean;
}

export async function stage(page: Page, scene: Scene): Promise<void> {
  const table = answers();
  const settings = { ...data.settings, app: { ...data.settings.app, language: scene.language } };
  table["settings"] = { ...(table["settings"] as object), settings };
  if (scene.isAsked) table["tools"] = { ...data.tools, waiting: [data.question] };
  if (scene.isApp) await page.addInitScript(shell, data.update);
  const frames = scene.isNew ? [{ ...data.live, models: [], transfers: [], requests: [] }] : data.minute;
  await page.route("**/control/v1/**", async (route: Route) => {
    const path = new URL(route.request().url()).pathname.replace("/control/v1/", "");
    if (path === "live") return route.fulfill({ contentType: "text/event-stream", body: sse("frame", frames) });
    if (path === "logs") return route.fulfill({ contentType: "text/event-stream", body: sse("line", data.logs) });
    const json = table[path];
    return json === undefined ? route.fulfill({ status: 404, json: { error: { message: path } } }) : route.fulfill({ json });
  });
  await page.clock.setFixedTime(data.NOW);
}

/** What the app's window gives its page. Runs in the page. */
function shell(update: unknown): void {
  const answers: Record<string, unknown> = { about: { is_icon_seen: true }, login_item: true, update };
  Reflect.set(globalThis, "__TAURI__", { core: { invoke: (command: string) => Promise.resolve(answers[command] ?? null) } });
}
