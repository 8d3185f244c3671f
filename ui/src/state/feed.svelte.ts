// The live picture: one stream for all panels, which runs only while somebody looks.

import { Failure, isAbort } from "../api/client";
import type { Control } from "../api/control";
import type { Level, Live } from "../lib/control";

export interface Point {
  at: number;
  decodeTps: number;
  /** Median gap between tokens; 0 while none come. */
  itlMs: number;
  level: Level;
}

const N_POINTS = 60;
const EVERY_MS = 1000;
const RETRY_MS = 1500;

export class Feed {
  frame = $state.raw<Live | null>(null);
  /** One a second, the newest last. */
  points = $state.raw<readonly Point[]>([]);
  /** Why there is no stream now. */
  failure = $state.raw<Failure | null>(null);
  #stop: AbortController | null = null;

  constructor(private readonly control: Control) {}

  /** Starts and stops with the page's visibility; the result ends it for good. */
  follow(): () => void {
    const look = () => (document.visibilityState === "visible" ? this.#start() : this.#end());
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      this.#end();
    };
  }

  /** At once, not at the next try. */
  again = (): void => {
    this.#end();
    this.#start();
  };

  #start(): void {
    if (this.#stop) return;
    this.#stop = new AbortController();
    void this.#run(this.#stop.signal);
  }

  #end(): void {
    this.#stop?.abort();
    this.#stop = null;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const frame of this.control.live(EVERY_MS, signal)) this.#take(frame);
      } catch (error) {
        if (isAbort(error) || signal.aborted) return;
        this.failure = error instanceof Failure ? error : new Failure(String(error), 0);
        if (this.failure.isRefused) return;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  #take(frame: Live): void {
    this.failure = null;
    this.frame = frame;
    const point = { at: Date.parse(frame.at), decodeTps: frame.speed.decode_tps, itlMs: frame.speed.itl_p50_ms ?? 0, level: frame.memory.pressure };
    this.points = [...this.points.slice(1 - N_POINTS), point];
  }
}
