// Conversations that Tokbar has not kept yet: in the browser's own database, where earlier versions kept all of them.

import type { ChatFigures, ChatMessage, Conversation } from "../../lib/control";

const DATABASE = "tokbar";
const CONVERSATIONS = "conversations";

export interface Waiting {
  all(): Promise<Conversation[]>;
  put(conversation: Conversation): Promise<void>;
  delete(id: string): Promise<void>;
}

/** For as long as the page lives: where there is no database, as in private windows. */
export class InMemory implements Waiting {
  private readonly kept = new Map<string, Conversation>();

  all(): Promise<Conversation[]> {
    return Promise.resolve([...this.kept.values()].map((one) => structuredClone(one)));
  }

  put(conversation: Conversation): Promise<void> {
    this.kept.set(conversation.id, structuredClone(conversation));
    return Promise.resolve();
  }

  delete(id: string): Promise<void> {
    this.kept.delete(id);
    return Promise.resolve();
  }
}

class Indexed implements Waiting {
  constructor(private readonly database: IDBDatabase) {}

  async all(): Promise<Conversation[]> {
    const all = await this.ask<(Conversation | Early)[]>("readonly", (store) => store.getAll());
    return all.map((one) => ("created" in one ? renamed(one) : one));
  }

  async put(conversation: Conversation): Promise<void> {
    await this.ask("readwrite", (store) => store.put(conversation));
  }

  async delete(id: string): Promise<void> {
    await this.ask("readwrite", (store) => store.delete(id));
  }

  /** Completes once it is on disk, not only asked for. */
  private ask<T>(mode: IDBTransactionMode, question: (store: IDBObjectStore) => IDBRequest): Promise<T> {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(CONVERSATIONS, mode);
      const request = question(transaction.objectStore(CONVERSATIONS));
      transaction.oncomplete = () => resolve(request.result as T);
      transaction.onabort = () => reject(transaction.error ?? new Error("the conversation could not be kept"));
    });
  }
}

export function openWaiting(): Promise<Waiting> {
  return new Promise((resolve) => {
    if (!("indexedDB" in globalThis)) return resolve(new InMemory());
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(CONVERSATIONS, { keyPath: "id" });
    request.onsuccess = () => resolve(new Indexed(request.result));
    request.onerror = () => resolve(new InMemory());
  });
}

/** As earlier versions of the page wrote it. */
export interface Early extends Omit<Conversation, "created_ms" | "updated_ms" | "messages"> {
  created: number;
  updated: number;
  messages: (Omit<ChatMessage, "figures"> & { figures: EarlyFigures | null })[];
}

interface EarlyFigures {
  ttftMs: number;
  tokensPerSecond: number | null;
  nOutput: number;
  nPrompt: number;
  nCached: number;
}

export function renamed({ created, updated, messages, ...rest }: Early): Conversation {
  const said = messages.map((one) => ({ ...one, figures: one.figures && figuresOf(one.figures) }));
  return { ...rest, created_ms: created, updated_ms: updated, messages: said };
}

function figuresOf(early: EarlyFigures): ChatFigures {
  return {
    ttft_ms: early.ttftMs,
    tokens_per_second: early.tokensPerSecond,
    n_output: early.nOutput,
    n_prompt: early.nPrompt,
    n_cached: early.nCached,
  };
}
