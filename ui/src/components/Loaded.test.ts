import { render, screen } from "@testing-library/svelte";
import { createRawSnippet } from "svelte";
import { expect, test } from "vitest";

import { Failure } from "../api/client";
import { Loader } from "../state/loader.svelte";
import Loaded from "./Loaded.svelte";

const children = createRawSnippet<[string]>((value) => ({ render: () => `<p>got ${value()}</p>` }));

test("loading, failing and the value are three pictures", async () => {
  const answers: (() => Promise<string>)[] = [
    () => Promise.reject(new Failure("no room: close an app", 507)),
    () => Promise.reject(new Failure("x", 0)),
    () => Promise.resolve("it"),
  ];
  const loader = new Loader(() => (answers.shift() ?? (() => Promise.reject(new Error("asked too often"))))());
  render(Loaded<string>, { loader, children });
  expect(screen.getByRole("status").getAttribute("aria-busy")).toBe("true");
  await loader.load();
  expect((await screen.findByRole("alert")).textContent).toContain("no room: close an app");
  screen.getByRole("button", { name: "Try again" }).click();
  expect(await screen.findByText("Tokbar does not answer")).toBeTruthy();
  screen.getByRole("button", { name: "Try again" }).click();
  expect(await screen.findByText("got it")).toBeTruthy();
});

test("a failed second try keeps the older value", async () => {
  let n = 0;
  const loader = new Loader(() => (n++ === 0 ? Promise.resolve("old") : Promise.reject(new Error("gone"))));
  render(Loaded<string>, { loader, children });
  await loader.load();
  await loader.load();
  expect(await screen.findByText("got old")).toBeTruthy();
});

test("of two answers the later question's counts", async () => {
  const waiting: ((value: string) => void)[] = [];
  const loader = new Loader(() => new Promise<string>((resolve) => waiting.push(resolve)));
  const both = [loader.load(), loader.load()];
  waiting[1]?.("second");
  waiting[0]?.("first");
  await Promise.all(both);
  expect(loader.value).toBe("second");
});
