import { describe, expect, test } from "vitest";

import type { Table, Texts } from "./locale.svelte";

const modules = import.meta.glob<Record<string, unknown>>("../{features,shell}/**/*strings.ts", { eager: true });
const tables = Object.entries(modules).flatMap(([path, module]) =>
  Object.entries(module).map(([name, value]) => [`${path} ${name}`, value as Table<Texts>] as const),
);

/** Names that both languages write alike. */
const NAMES = /KV|Tokbar/g;

function say(text: Texts[string] | undefined): string {
  return typeof text === "function" ? String(text("\u2460", "\u2461", "\u2462")) : (text ?? "");
}

test("every feature has a table", () => {
  const features = Object.keys(import.meta.glob("../features/*/*.svelte")).map((path) => path.split("/")[2]);
  for (const feature of new Set(features)) expect(Object.keys(modules).join(" ")).toContain(`/${feature}/`);
});

describe.each(tables)("%s", (_name, table) => {
  test("has the same keys in both languages", () => {
    expect(Object.keys(table.zh).toSorted()).toEqual(Object.keys(table.en).toSorted());
  });

  test("says each in both, with the same values", () => {
    for (const key of Object.keys(table.en)) {
      const [en, zh] = [say(table.en[key]), say((table.zh as Texts)[key])];
      expect(en.trim(), key).not.toBe("");
      expect(en, key).not.toMatch(/\p{Script=Han}/u);
      // What holds no Chinese holds no words at all.
      if (!/\p{Script=Han}/u.test(zh)) expect(zh.replace(NAMES, ""), key).not.toMatch(/\p{L}/u);
      const values = (text: string) => [...text.matchAll(/[\u2460-\u2462]/g)].map(String).toSorted();
      expect(values(zh), key).toEqual(values(en));
    }
  });
});
