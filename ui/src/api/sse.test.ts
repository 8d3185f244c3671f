import { expect, test } from "vitest";

import { events, type ServerEvent } from "./sse";

function body(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

async function all(stream: ReadableStream<Uint8Array>): Promise<ServerEvent[]> {
  const found: ServerEvent[] = [];
  for await (const event of events(stream)) found.push(event);
  return found;
}

const WIRE = ': hello\n\nevent: frame\ndata: {"a": "ü😀"}\n\ndata: one\r\ndata: two\r\n\r\ndata:last\n\n';
const EXPECTED = [
  { event: "frame", data: '{"a": "ü😀"}' },
  { event: "message", data: "one\ntwo" },
  { event: "message", data: "last" },
];

test("events are the same wherever the stream is cut", async () => {
  const bytes = new TextEncoder().encode(WIRE);
  for (let at = 0; at <= bytes.length; at++) {
    expect(await all(body([bytes.slice(0, at), bytes.slice(at)])), `cut at ${at}`).toEqual(EXPECTED);
  }
});

test("an event that never ends is refused", async () => {
  const part = new Uint8Array(1 << 20).fill(97);
  await expect(all(body(Array.from({ length: 9 }, () => part)))).rejects.toThrow("has no end");
});
