import { expect, test } from "vitest";

import { areaPath, linePath, niceTop } from "./chart";

const box = { width: 100, height: 50 };

test("the newest value stands at the right edge", () => {
  expect(linePath([0, 10], 11, box, 10)).toBe("M90 50L100 0");
  expect(linePath([5], 11, box, 10)).toBe("M100 25");
  expect(linePath([], 11, box, 10)).toBe("");
});

test("what is out of scale stays in the box", () => {
  expect(linePath([-3, 99], 2, box, 10)).toBe("M0 50L100 0");
  expect(linePath([1, 2], 2, box, 0)).toBe("M0 50L100 50");
});

test("the area ends on the floor below where it began", () => {
  expect(areaPath([0, 10], 11, box, 10)).toBe("M90 50L100 0V50H90Z");
});

test.each([
  [[108], 150],
  [[100], 100],
  [[0.14], 0.15],
  [[], 1],
  [[0, 0], 1],
  [[9.9], 10],
])("the top of %j is %d", (values, expected) => expect(niceTop(values)).toBeCloseTo(expected));
