// A value that is being fetched, is there, or could not be had.

import { isAbort } from "../api/client";

export class Loader<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<unknown>(null);
  isBusy = $state(false);
  #turn = 0;

  constructor(private readonly fetcher: () => Promise<T>) {}

  /** Fetches anew. An older value stays until then, also when this fails. */
  load = async (): Promise<void> => {
    const turn = ++this.#turn;
    this.isBusy = true;
    try {
      const value = await this.fetcher();
      if (turn === this.#turn) this.put(value);
    } catch (error) {
      if (turn === this.#turn && !isAbort(error)) this.error = error;
    } finally {
      if (turn === this.#turn) this.isBusy = false;
    }
  };

  /** A newer value from elsewhere, such as the answer to a change. What is being fetched is older. */
  put(value: T): void {
    this.#turn += 1;
    this.isBusy = false;
    this.value = value;
    this.error = null;
  }
}
