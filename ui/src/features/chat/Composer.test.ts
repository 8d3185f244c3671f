import { fireEvent, render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";

import Composer from "./Composer.svelte";

function composer(change: { takesImages?: boolean; isAnswering?: boolean } = {}) {
  const sent: [string, string[]][] = [];
  const stopped: string[] = [];
  const given = { isAnswering: false, takesImages: false, send: (text: string, images: string[]) => sent.push([text, images]), stop: () => stopped.push("stop") };
  render(Composer, { ...given, ...change });
  return { sent, stopped, area: screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" }) };
}

const picture = new File([new Uint8Array([1, 2, 3])], "a.png", { type: "image/png" });

test("Return sends, Shift with Return does not, and nothing is not sent", async () => {
  const { sent, area } = composer();
  await fireEvent.keyDown(area, { key: "Enter" });
  await fireEvent.input(area, { target: { value: " hi " } });
  await fireEvent.keyDown(area, { key: "Enter", shiftKey: true });
  expect(sent).toEqual([]);
  await fireEvent.keyDown(area, { key: "Enter" });
  expect(sent).toEqual([["hi", []]]);
  expect(area.value).toBe("");
});

test("a model that takes images is sent those that were pasted, less the removed ones", async () => {
  const { sent, area } = composer({ takesImages: true });
  expect(screen.getByRole("button", { name: "Attach an image" })).toBeTruthy();
  await fireEvent.paste(area, { clipboardData: { files: [picture] } });
  expect(await screen.findByRole("img", { name: "Image 1" })).toBeTruthy();
  await fireEvent.click(screen.getByRole("button", { name: "Remove the image" }));
  expect(screen.queryByRole("img")).toBeNull();
  await fireEvent.paste(area, { clipboardData: { files: [picture] } });
  await screen.findByRole("img", { name: "Image 1" });
  await fireEvent.input(area, { target: { value: "what is it?" } });
  await fireEvent.keyDown(area, { key: "Enter" });
  expect(sent).toEqual([["what is it?", ["data:image/png;base64,AQID"]]]);
});

test("a model that takes none is offered none", async () => {
  const { area } = composer();
  expect(screen.queryByRole("button", { name: "Attach an image" })).toBeNull();
  await fireEvent.paste(area, { clipboardData: { files: [picture] } });
  expect(screen.queryByRole("img")).toBeNull();
});

test("Escape stops an answer", async () => {
  const { stopped, area } = composer({ isAnswering: true });
  await fireEvent.keyDown(area, { key: "Escape" });
  expect(stopped).toEqual(["stop"]);
});
