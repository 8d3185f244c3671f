// What is said to ears, and shown for a moment: done deeds and failures outside of panels.

export interface Note {
  id: number;
  text: string;
  wrong: boolean;
}

class Announcer {
  said = $state("");
  notes = $state<Note[]>([]);
  #next = 0;

  say(text: string): void {
    // The same text twice is said twice.
    this.said = this.said === text ? `${text}\u00a0` : text;
  }

  show(text: string, wrong: boolean): void {
    const id = this.#next++;
    this.notes = [...this.notes.slice(-2), { id, text, wrong }];
    this.say(text);
    setTimeout(() => this.drop(id), wrong ? 12_000 : 4000);
  }

  drop(id: number): void {
    this.notes = this.notes.filter((note) => note.id !== id);
  }
}

export const announcer = new Announcer();

/** For ears only: what is seen anyway. */
export function announce(text: string): void {
  announcer.say(text);
}

/** A deed is done. */
export function report(text: string): void {
  announcer.show(text, false);
}

/** A deed failed; the text names the cause and the next action. */
export function complain(error: unknown): void {
  announcer.show(error instanceof Error ? error.message : String(error), true);
}
