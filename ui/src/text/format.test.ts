import { afterEach, expect, test } from "vitest";

import { bytes, context, count, duration, figure, percent, rate, seconds, tenths } from "./format";
import { locale } from "./locale.svelte";

afterEach(() => locale.choose(null));

test.each([
  [bytes(5.1e9), "5.1 GB"],
  [bytes(7e9), "7.0 GB"],
  [bytes(24e9), "24 GB"],
  [bytes(98_400_000), "98 MB"],
  [bytes(0), "0 B"],
  [bytes(1.25e12), "1.25 TB"],
  [context(32768), "32k"],
  [context(900), "900"],
  [count(18802), "18,802"],
  [figure(108.4), "108"],
  [figure(36.24), "36.2"],
  [rate(108.4), "108"],
  [rate(23.1), "23"],
  [rate(9.5), "9.5"],
  [figure(0.14), "0.14"],
  [figure(-0), "0"],
  [tenths(2.6), "2.6"],
  [percent(0.434), "43 %"],
  [duration(9.4), "9 s"],
  [duration(720), "12 min"],
  [duration(12_000), "3 h 20 min"],
  [duration(200_000), "2 d"],
  [seconds(0.14), "0.14 s"],
])("%s is %s", (said, expected) => expect(said).toBe(expected));

test("units follow the language", () => {
  locale.choose("zh");
  expect([duration(720), seconds(0.14)]).toEqual(["12 分钟", "0.14 秒"]);
});
