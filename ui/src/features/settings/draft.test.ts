import { expect, test } from "vitest";

import { settings } from "../../../e2e/stage/data";
import type { Control } from "../../api/control";
import type { SettingsAnswer } from "../../lib/control";
import { Draft } from "./draft.svelte";

/** Answers when told to. */
function slowly<T>() {
  const asked: { what: unknown; answer: (value: T) => void; refuse: (error: Error) => void }[] = [];
  const ask = (what?: unknown) => new Promise<T>((answer, refuse) => asked.push({ what, answer, refuse }));
  return { asked, ask };
}

const withRows = (max_rows: number): SettingsAnswer => ({
  settings: { ...settings, models: { ...settings.models, max_rows } },
  needs_restart: [],
  path: "settings.json",
});
const turn = () => new Promise((done) => setTimeout(done));

test("changes are sent one after another, also after one that failed", async () => {
  const { asked, ask } = slowly<SettingsAnswer>();
  const draft = new Draft({ set: ask } as unknown as Control);
  const saves = [1, 2, 3].map((n) => draft.save({ models: { max_rows: n } }));
  await turn();
  expect(asked).toHaveLength(1);
  asked[0]?.answer(withRows(1));
  await turn();
  expect(draft.loader.value?.settings.models.max_rows).toBe(1);
  asked[1]?.refuse(new Error("no"));
  await turn();
  asked[2]?.answer(withRows(3));
  await Promise.all(saves);
  expect(asked.map(({ what }) => what)).toEqual([1, 2, 3].map((n) => ({ models: { max_rows: n } })));
  expect(draft.loader.value?.settings.models.max_rows).toBe(3);
});

test("what was asked for before a change does not undo it", async () => {
  const { asked, ask } = slowly<SettingsAnswer>();
  const draft = new Draft({ settings: ask, set: () => Promise.resolve(withRows(2)) } as unknown as Control);
  const loading = draft.loader.load();
  await draft.save({ models: { max_rows: 2 } });
  asked[0]?.answer(withRows(1));
  await loading;
  expect(draft.loader.value?.settings.models.max_rows).toBe(2);
  expect(draft.loader.isBusy).toBe(false);
});
