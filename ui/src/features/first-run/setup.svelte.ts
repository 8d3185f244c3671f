// From a chosen model to one that answers: downloads what is missing, loads, and says how far it is.

import type { Control } from "../../api/control";
import type { Model, Shelf, Transfer } from "../../lib/control";

const POLL_MS = 700;

export type Phase = "idle" | "downloading" | "loading" | "ready" | "failed";

/** What fits and runs here, the recommended one first. */
export function candidates(shelf: Shelf): Model[] {
  const { smart, fast } = shelf.recommended;
  const rank = (model: Model) => (model.id === smart ? 0 : model.id === fast ? 1 : model.disk.state === "ready" ? 2 : 3);
  const fitting = shelf.models.filter((model) => model.can_run && model.disk.state !== "broken" && model.fit?.verdict !== "too_big");
  return fitting.filter((model) => model.disk.state === "ready" || model.is_known).toSorted((a, b) => rank(a) - rank(b));
}

export class Setup {
  phase = $state<Phase>("idle");
  transfer = $state.raw<Transfer | null>(null);
  error = $state<string | null>(null);
  model = $state.raw<Model | null>(null);
  #isOver = false;

  constructor(private readonly control: Control) {}

  /** Nothing more happens here; what the server does goes on. */
  leave(): void {
    this.#isOver = true;
  }

  start = async (model: Model): Promise<void> => {
    this.model = model;
    this.error = null;
    try {
      if (model.disk.state !== "ready") await this.#download(model.id);
      if (this.#isOver) return;
      this.phase = "loading";
      await this.control.load(model.id);
      this.phase = "ready";
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
      this.phase = "failed";
    }
  };

  async #download(id: string): Promise<void> {
    this.phase = "downloading";
    let transfer = await this.control.download(id);
    while (!this.#isOver && transfer.state !== "done") {
      this.transfer = transfer;
      if (transfer.state === "failed" || transfer.state === "cancelled") throw new Error(transfer.error ?? transfer.state);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const { transfers } = await this.control.transfers();
      const same = transfers.find((other) => other.id === transfer.id);
      if (!same) return;
      transfer = same;
    }
  }
}
