// Runs compared: which belong together, and what changed. Pure.

import type { BenchRun } from "../../lib/control";

export interface Series {
  name: string;
  unit: string;
  /** The oldest first; `null` where a run lacks the figure. */
  values: (number | null)[];
  latest: number;
  before: number | null;
}

/** Finished runs of a suite with the same model, the oldest first. */
export function comparable(runs: readonly BenchRun[], suite: string, model: string | null): BenchRun[] {
  const same = runs.filter((run) => run.state === "done" && run.suite === suite && (model === null || run.model === model));
  return same.toSorted((a, b) => Date.parse(a.started) - Date.parse(b.started));
}

/** One series for each figure of the newest run. */
export function series(runs: readonly BenchRun[]): Series[] {
  const newest = runs.at(-1);
  return (newest?.figures ?? []).map(({ name, unit, value }) => {
    const values = runs.map((run) => run.figures.find((figure) => figure.name === name)?.value ?? null);
    return { name, unit, values, latest: value, before: values.slice(0, -1).findLast((old) => old !== null) ?? null };
  });
}

/** Whether more is better, by the unit: throughputs grow, times shrink. */
export function isBetter(unit: string, change: number): boolean {
  return /tok\/s|\/s$|rate|%/.test(unit) ? change > 0 : change < 0;
}
