// Events of a `text/event-stream`, from a fetched body: `EventSource` can send no key.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Longest event; a longer one is no event of ours. */
const N_CHARS_MAX = 8 << 20;

/** Yields events as they come; ends with the stream. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  let event = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      pending += done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (pending.length > N_CHARS_MAX) throw new Error("an event of the server has no end");
      const lines = pending.split(/\r\n|\n|\r(?!$)/);
      pending = done ? "" : (lines.pop() ?? "");
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event: event || "message", data: data.join("\n") };
          event = "";
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        } else if (line.startsWith("event:")) {
          event = line.slice(6).trim();
        }
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
