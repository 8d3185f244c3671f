import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";

import { live } from "../../../e2e/stage/data";
import RequestsCard from "./RequestsCard.svelte";

test("nothing running says so", () => {
  render(RequestsCard, { requests: [], cancel: () => Promise.resolve() });
  expect(screen.getByText("Nothing runs now")).toBeTruthy();
});

test("each request has its figures, or how far its prompt is, and a named button", async () => {
  const cancelled: string[] = [];
  render(RequestsCard, { requests: live.requests, cancel: (id: string) => Promise.resolve(cancelled.push(id)) });
  expect(screen.getAllByRole("row")).toHaveLength(4);
  expect(screen.getByText("18,802")).toBeTruthy();
  expect(screen.getByRole("progressbar", { name: "prefill 60 % · 3 s left" }).getAttribute("aria-valuenow")).toBe("60");
  screen.getByRole("button", { name: "Cancel Responses of Codex" }).click();
  await expect.poll(() => cancelled).toEqual(["c"]);
});
