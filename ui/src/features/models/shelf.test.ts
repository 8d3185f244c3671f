import { expect, test } from "vitest";

import { live, models } from "../../../e2e/stage/data";
import type { Model, Transfer } from "../../lib/control";
import { isBehind, isHere, matches, row, shelfKey, strangers } from "./shelf";

const model = (change: Partial<Model>): Model => ({ ...(models[1] as Model), id: "x", resident: null, transfer: null, ...change });
const transfer = (change: Partial<Transfer>): Transfer => ({ ...(live.transfers[0] as Transfer), model: "x", ...change });
const disk = (state: Model["disk"]["state"]) => ({ ...(models[1] as Model).disk, state });

test.each([
  ["on disk", model({}), "start"],
  ["on disk, of a family not known", model({ can_run: false }), "none"],
  ["half there", model({ disk: disk("partial") }), "resume"],
  ["broken, from the Hub", model({ disk: { ...disk("broken"), owner: "hugging_face" } }), "repair"],
  ["broken, somebody's own", model({ disk: { ...disk("broken"), owner: "person" } }), "none"],
  ["not there", model({ disk: disk("absent") }), "get"],
  ["coming", model({ disk: disk("partial"), transfer: transfer({ state: "running" }) }), "pause"],
  ["paused", model({ disk: disk("partial"), transfer: transfer({ state: "paused" }) }), "resume"],
  ["failed", model({ disk: disk("partial"), transfer: transfer({ state: "failed" }) }), "resume"],
  ["queued", model({ disk: disk("absent"), transfer: transfer({ state: "waiting" }) }), "wait"],
  ["being imported", model({ disk: disk("absent"), transfer: transfer({ kind: "import", state: "running" }) }), "wait"],
  ["come", model({ transfer: transfer({ state: "done" }) }), "start"],
  ["given up", model({ disk: disk("absent"), transfer: transfer({ state: "cancelled" }) }), "get"],
])("a model that is %s", (_what, value, deed) => {
  expect(row(value, null).deed).toBe(deed);
});

test("the live picture is newer than the shelf", () => {
  const frame = { ...live, models: [{ ...(live.models[0] as (typeof live.models)[0]), id: "x" }], transfers: [] };
  expect(row(model({}), frame).deed).toBe("stop");
  expect(row(model({ resident: live.models[0] ?? null }), { ...frame, models: [] }).deed).toBe("start");
  const coming = { ...frame, models: [], transfers: [transfer({ state: "running" })] };
  expect(row(model({ disk: disk("absent") }), coming).deed).toBe("pause");
  expect(isHere(row(model({ disk: disk("absent") }), coming))).toBe(true);
  expect(shelfKey(frame)).not.toBe(shelfKey(coming));
});

test("what comes from elsewhere has a row until it is on the shelf", () => {
  const coming = [transfer({ model: "new/one", state: "paused" }), transfer({ model: "x" }), transfer({ model: "old", state: "done" })];
  const found = strangers([model({})], coming);
  expect(found.map(({ id, name }) => [id, name])).toEqual([["new/one", "one"]]);
  expect(row(found[0] as Model, null).deed).toBe("resume");
});

test("words are looked for in names and abilities", () => {
  const value = model({ name: "Qwen3.5 9B", aliases: ["qwen"], capabilities: ["tools"] });
  expect([matches(value, "9b QWEN"), matches(value, "tools"), matches(value, "qwen vision")]).toEqual([true, true, false]);
});

test("what ended between two frames is noticed", () => {
  const frame = { ...live, transfers: [] };
  expect(isBehind([transfer({ state: "running" })], frame)).toBe(true);
  expect(isBehind([transfer({ state: "waiting" })], { ...live, transfers: [transfer({})] })).toBe(false);
  expect(isBehind([transfer({ state: "failed" }), transfer({ state: "paused" })], frame)).toBe(false);
  expect(isBehind([transfer({ state: "running" })], null)).toBe(false);
});
