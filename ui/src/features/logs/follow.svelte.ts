// The log as it comes: bounded, in order, and still while paused.

import { isAbort } from "../../api/client";
import type { Control } from "../../api/control";
import type { LogLine } from "../../lib/control";

const N_LINES_MAX = 2000;
const N_TAIL = 400;
const PAINT_MS = 150;

export interface Numbered {
  no: number;
  line: LogLine;
}

export class Follower {
  lines = $state.raw<readonly Numbered[] | null>(null);
  failure = $state.raw<unknown>(null);
  isPaused = $state(false);
  #pending: Numbered[] = [];
  #next = 0;
  /** Whether the server has answered: only then is no line a sign that there is none. */
  #isOpen = false;
  #stop: AbortController | null = null;

  constructor(private readonly control: Control) {}

  /** Begins anew with the tail of that level; the result ends it. */
  follow(level: LogLine["level"]): () => void {
    const stop = new AbortController();
    this.#stop?.abort();
    this.#stop = stop;
    this.lines = null;
    this.failure = null;
    this.#pending = [];
    this.#isOpen = false;
    void this.#run(level, stop.signal);
    const paint = setInterval(() => this.#paint(), PAINT_MS);
    return () => {
      clearInterval(paint);
      stop.abort();
    };
  }

  async #run(level: LogLine["level"], signal: AbortSignal): Promise<void> {
    try {
      const lines = await this.control.logs(level, N_TAIL, signal);
      if (signal.aborted) return;
      this.#isOpen = true;
      for await (const line of lines) {
        this.#pending.push({ no: this.#next++, line });
        if (this.#pending.length > N_LINES_MAX) this.#pending.shift();
      }
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) this.failure = error;
    }
  }

  #paint(): void {
    if (this.isPaused || this.failure !== null) return;
    if (this.#pending.length === 0) {
      if (this.#isOpen) this.lines ??= [];
      return;
    }
    this.lines = [...(this.lines ?? []), ...this.#pending].slice(-N_LINES_MAX);
    this.#pending = [];
  }
}
