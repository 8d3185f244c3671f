import { expect, test } from "vitest";

import { ICON_NAMES } from "./icons";

test("every icon has its file and every file its name", () => {
  const files = Object.keys(import.meta.glob("../../../assets/icons/*.svg"));
  const names = files.map((path) => path.slice(path.lastIndexOf("/") + 1, -".svg".length));
  expect(names.toSorted()).toEqual([...ICON_NAMES].toSorted());
});
