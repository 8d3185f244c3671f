import { expect, test } from "vitest";

import { shelf } from "../../../e2e/stage/data";
import { candidates } from "./setup.svelte";

test("the recommended come first; what is broken or too big does not come", () => {
  const names = candidates(shelf).map((model) => model.name);
  expect(names.slice(0, 2)).toEqual(["Devstral Small 2 24B", "Qwen3.5 4B"]);
  expect(names).not.toContain("Odd 7B");
  expect(names).not.toContain("Qwen3.5 35B-A3B");
  expect(names).toContain("SmolLM2 135M");
});
