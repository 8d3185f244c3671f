// One line about a model.

import type { Model } from "../../lib/control";
import { bytes } from "../../text/format";
import { modelTexts } from "./strings";

const KNOWN = ["chat", "tools", "thinking", "vision", "code"] as const;

/** `4-bit · 5.1 GB · tools, reasoning`. */
export function aboutModel(model: Model): string {
  const size = model.disk.n_bytes || model.size_bytes || 0;
  return [model.quantization, size > 0 ? bytes(size) : null, capabilities(model) || null]
    .filter((word) => word !== null)
    .join(" · ");
}

export function capabilities(model: Model): string {
  const t = modelTexts.now;
  const known = KNOWN.filter((word) => model.capabilities.includes(word));
  // That a model chats goes without saying when it can do more.
  const telling = known.length > 1 ? known.filter((word) => word !== "chat") : known;
  return telling.map((word) => t[word]).join(t.comma);
}
