// Settings as they are on the server, and one change at a time.

import { Failure } from "../../api/client";
import type { Control } from "../../api/control";
import type { Settings, SettingsAnswer } from "../../lib/control";
import { complain, report } from "../../shell/announce.svelte";
import { InTurn } from "../../state/in-turn";
import { Loader } from "../../state/loader.svelte";
import { settingsTexts } from "./strings";

export type Section = keyof Settings;
export type Change = { [S in Section]?: Partial<Settings[S]> };

export class Draft {
  readonly loader: Loader<SettingsAnswer>;
  /** What the server refused, at the field that it names. */
  wrong = $state.raw<Failure | null>(null);
  #saves = new InTurn();

  constructor(private readonly control: Control) {
    this.loader = new Loader(control.settings);
  }

  save = (change: Change): Promise<void> => this.#saves.run(() => this.#save(change));

  async #save(change: Change): Promise<void> {
    this.wrong = null;
    try {
      this.loader.put(await this.control.set(change));
      report(settingsTexts.now.saved);
    } catch (error) {
      if (error instanceof Failure && error.param) this.wrong = error;
      else complain(error);
    }
  }

  /** `server.port`, as the server names fields; its last part will do. */
  errorOf(path: string): string | null {
    const param = this.wrong?.param;
    return param && (param === path || path.endsWith(`.${param}`)) ? (this.wrong?.message ?? null) : null;
  }
}

/** A field that may be empty; what is no number goes to the server, which says what is wrong. */
export function numberOrNull(text: string): number | string | null {
  const value = text.trim().replace(",", ".");
  if (value === "") return null;
  return Number.isFinite(Number(value)) ? Number(value) : value;
}

export function gigabytes(value: number | null): string {
  return value === null ? "" : String(Math.round(value / 1e8) / 10);
}

export function fromGigabytes(text: string): number | string | null {
  const value = numberOrNull(text);
  return typeof value === "number" ? Math.round(value * 1e9) : value;
}
