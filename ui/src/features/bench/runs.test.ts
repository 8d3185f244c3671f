import { expect, test } from "vitest";

import { bench } from "../../../e2e/stage/data";
import { comparable, isBetter, series } from "./runs";

test("only finished runs of one suite and model are compared, the oldest first", () => {
  const runs = comparable(bench.runs, "cold", bench.runs[0]?.model ?? null);
  expect(runs.map((run) => run.id)).toEqual(["r4", "r2", "r1", "r0"].toSorted((a, b) => at(a) - at(b)));
  expect(comparable(bench.runs, "agent", null)).toEqual([]);
});

function at(id: string): number {
  return Date.parse(bench.runs.find((run) => run.id === id)?.started ?? "");
}

test("a figure that a run lacks leaves a gap, not a nought", () => {
  const [a, b] = [bench.runs[1], bench.runs[0]];
  if (!a || !b) throw new Error("the data has no runs");
  const all = series([{ ...a, figures: [] }, a, b]);
  expect(all[0]?.values[0]).toBeNull();
  expect(all[0]).toMatchObject({ name: "Decode", latest: 108, before: 101 });
  expect(series([])).toEqual([]);
});

test.each([
  ["tok/s", 0.1, true],
  ["tok/s", -0.1, false],
  ["ms", -0.1, true],
  ["s", 0.1, false],
])("a change of %s by %d is better: %s", (unit, change, expected) => expect(isBetter(unit, change)).toBe(expected));
