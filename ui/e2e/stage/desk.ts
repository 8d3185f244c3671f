// Conversations as the server keeps them, in memory, with a way to make it refuse. For tests of what is in front of it.

import { Failure } from "../../src/api/client";
import { holds } from "../../src/features/chat/conversation";
import type { Conversation, ConversationList, Done } from "../../src/lib/control";

export class Desk {
  readonly kept = new Map<string, Conversation>();
  /** What every call comes to; `null` when it works. */
  trouble: Failure | null = null;

  conversations = async (q: string): Promise<ConversationList> => {
    this.#check();
    const found = [...this.kept.values()].filter((one) => q === "" || holds(one, q));
    const conversations = found.map(({ id, title, updated_ms, messages }) => ({ id, title, updated_ms, n_messages: messages.length }));
    return { conversations, n_kept: this.kept.size, note: null };
  };

  conversation = async (id: string): Promise<Conversation> => {
    this.#check();
    const one = this.kept.get(id);
    if (!one) throw new Failure("there is no such conversation", 404);
    return structuredClone(one);
  };

  keep = async (one: Conversation): Promise<Done> => {
    this.#check();
    this.kept.set(one.id, structuredClone(one));
    return { status: "ok" };
  };

  forget = async (id: string): Promise<Done> => {
    this.#check();
    if (!this.kept.delete(id)) throw new Failure("there is no such conversation", 404);
    return { status: "ok" };
  };

  #check(): void {
    if (this.trouble) throw this.trouble;
  }
}
