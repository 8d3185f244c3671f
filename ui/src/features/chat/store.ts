// Where conversations are kept: on this machine, in the page's own database.

import { holds, type Conversation } from "./conversation";

/** What a list needs of a conversation. */
export interface Entry {
  id: string;
  title: string;
  updated: number;
}

export interface ConversationStore {
  /** The newest first; with `words`, those that hold all of them. */
  list(words: string): Promise<Entry[]>;
  get(id: string): Promise<Conversation | null>;
  put(conversation: Conversation): Promise<void>;
  delete(id: string): Promise<void>;
}

const DATABASE = "tokbar";
const CONVERSATIONS = "conversations";

/** For as long as the page lives: where there is no database, as in private windows. */
export class MemoryStore implements ConversationStore {
  private readonly all = new Map<string, Conversation>();

  list(words: string): Promise<Entry[]> {
    return Promise.resolve(entries([...this.all.values()], words));
  }

  get(id: string): Promise<Conversation | null> {
    return Promise.resolve(structuredClone(this.all.get(id) ?? null));
  }

  put(conversation: Conversation): Promise<void> {
    this.all.set(conversation.id, structuredClone(conversation));
    return Promise.resolve();
  }

  delete(id: string): Promise<void> {
    this.all.delete(id);
    return Promise.resolve();
  }
}

export class IndexedStore implements ConversationStore {
  constructor(private readonly database: IDBDatabase) {}

  async list(words: string): Promise<Entry[]> {
    return entries(await this.ask<Conversation[]>("readonly", (store) => store.getAll()), words);
  }

  async get(id: string): Promise<Conversation | null> {
    return (await this.ask<Conversation | undefined>("readonly", (store) => store.get(id))) ?? null;
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

function entries(all: Conversation[], words: string): Entry[] {
  const found = words.trim() ? all.filter((one) => holds(one, words.trim())) : all;
  const sorted = found.toSorted((a, b) => b.updated - a.updated);
  return sorted.map(({ id, title, updated }) => ({ id, title, updated }));
}

export function openStore(): Promise<ConversationStore> {
  return new Promise((resolve) => {
    if (!("indexedDB" in globalThis)) return resolve(new MemoryStore());
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(CONVERSATIONS, { keyPath: "id" });
    request.onsuccess = () => resolve(new IndexedStore(request.result));
    request.onerror = () => resolve(new MemoryStore());
  });
}
