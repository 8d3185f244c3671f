// What the list shows of a model, from the shelf and the live picture. Pure.

import type { Fit, Live, Model, Resident, Transfer } from "../../lib/control";

/** The one thing to do next with a model. */
export type Deed = "start" | "stop" | "get" | "pause" | "resume" | "repair" | "wait" | "none";

export interface Row {
  model: Model;
  resident: Resident | null;
  transfer: Transfer | null;
  deed: Deed;
}

/** The shelf is fetched now and then; what is loaded and what comes is told every second. */
export function row(model: Model, frame: Live | null): Row {
  const resident = frame ? (frame.models.find((one) => one.id === model.id) ?? null) : model.resident;
  const running = frame?.transfers.find((one) => one.model === model.id);
  const transfer = running ?? (isOpen(model.transfer) ? model.transfer : null);
  return { model, resident, transfer, deed: deed(model, resident, transfer) };
}

/** What comes and is on no shelf yet stands first. */
export function strangers(models: readonly Model[], transfers: readonly Transfer[]): Model[] {
  const open = transfers.filter((one) => isOpen(one) && !models.some((model) => model.id === one.model));
  return open.map((transfer) => ({
    id: transfer.model,
    name: transfer.model.split("/").at(-1) ?? transfer.model,
    aliases: [],
    disk: { state: "absent", reason: null, path: null, n_bytes: 0, owner: null, form: null },
    resident: null,
    transfer,
    fit: null,
    family: null,
    quantization: null,
    n_params: null,
    size_bytes: transfer.n_bytes,
    n_context: null,
    capabilities: [],
    can_run: true,
    is_known: false,
    decode_tps: null,
    notes: [],
  }));
}

function isOpen(transfer: Transfer | null): boolean {
  return transfer !== null && !["done", "cancelled"].includes(transfer.state);
}

function deed(model: Model, resident: Resident | null, transfer: Transfer | null): Deed {
  if (transfer) {
    if (transfer.state === "running") return transfer.kind === "import" ? "wait" : "pause";
    return transfer.state === "waiting" ? "wait" : "resume";
  }
  if (resident) return resident.state === "ready" ? "stop" : "wait";
  if (model.disk.state === "ready") return model.can_run ? "start" : "none";
  if (model.disk.state === "partial") return "resume";
  // What others brought is theirs to mend.
  if (model.disk.state === "broken") return model.disk.owner === "hugging_face" ? "repair" : "none";
  return "get";
}

export function isHere(row: Row): boolean {
  return row.model.disk.state !== "absent" || row.transfer !== null;
}

/** Each word must be somewhere in the model's names. */
export function matches(model: Model, words: string): boolean {
  const names = [model.id, model.name, model.family ?? "", ...model.aliases, ...model.capabilities].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => names.includes(word));
}

export function tone(verdict: Fit["verdict"]): "ok" | "warn" | "bad" {
  return ({ fits: "ok", tight: "warn", too_big: "bad" } as const)[verdict];
}

/** Changes whenever the shelf should be fetched anew. */
export function shelfKey(frame: Live | null): string {
  if (!frame) return "";
  const models = frame.models.map((model) => `${model.id} ${model.state}`);
  return [...models, ...frame.transfers.map((transfer) => `${transfer.id} ${transfer.state}`)].join("\n");
}

/** Whether something that still moved when it was fetched has ended since, between two frames. */
export function isBehind(fetched: readonly Transfer[], frame: Live | null): boolean {
  const moves = fetched.filter(({ state }) => state === "running" || state === "waiting");
  return frame !== null && moves.some(({ id }) => !frame.transfers.some((one) => one.id === id));
}
