// Changes of the same thing, one after another.

/** Begins each piece of work once the one before it has ended, so that the last answer tells how things are. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
