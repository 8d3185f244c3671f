// Where conversations are kept: in Tokbar's own database, whatever address the page was opened at. What that did not take
// waits in the browser's until it does, so that no answer is lost.

import { Failure } from "../../api/client";
import type { Control } from "../../api/control";
import type { Conversation, ConversationEntry, ConversationList } from "../../lib/control";
import { holds } from "./conversation";
import type { Waiting } from "./waiting";

export interface ConversationStore {
  /** The newest first; with `words`, those that hold all of them. */
  list(words: string): Promise<ConversationList>;
  get(id: string): Promise<Conversation | null>;
  /** Says why it is not kept yet, when it only waits; `null` once it is. */
  put(conversation: Conversation): Promise<string | null>;
  delete(id: string): Promise<void>;
  /** Hands over what waits; says why it still does. */
  flush(): Promise<string | null>;
}

/** The server's database, and what waits for it. */
export class ServerStore implements ConversationStore {
  constructor(
    private readonly control: Pick<Control, "conversations" | "conversation" | "keep" | "forget">,
    private readonly waiting: Waiting,
  ) {}

  async list(words: string): Promise<ConversationList> {
    const waiting = await this.waiting.all();
    const kept = await this.control.conversations(words);
    const found = words.trim() ? waiting.filter((one) => holds(one, words.trim())) : waiting;
    const others = kept.conversations.filter(({ id }) => !waiting.some((one) => one.id === id));
    const conversations = [...found.map(entry), ...others].toSorted((a, b) => b.updated_ms - a.updated_ms);
    return { ...kept, conversations };
  }

  async get(id: string): Promise<Conversation | null> {
    const waiting = (await this.waiting.all()).find((one) => one.id === id);
    return waiting ?? (await unlessMissing(this.control.conversation(id)));
  }

  async put(conversation: Conversation): Promise<string | null> {
    try {
      await this.control.keep(conversation);
    } catch (error) {
      await this.waiting.put(conversation);
      return error instanceof Error ? error.message : String(error);
    }
    await this.waiting.delete(conversation.id);
    return null;
  }

  async delete(id: string): Promise<void> {
    await unlessMissing(this.control.forget(id));
    await this.waiting.delete(id);
  }

  async flush(): Promise<string | null> {
    let trouble: string | null = null;
    for (const one of await this.waiting.all()) {
      try {
        const kept = await unlessMissing(this.control.conversation(one.id));
        // Another window may have gone on with it.
        if (kept && kept.updated_ms > one.updated_ms) await this.waiting.delete(one.id);
        else trouble = (await this.put(one)) ?? trouble;
      } catch (error) {
        trouble = error instanceof Error ? error.message : String(error);
      }
    }
    return trouble;
  }
}

function entry({ id, title, updated_ms, messages }: Conversation): ConversationEntry {
  return { id, title, updated_ms, n_messages: messages.length };
}

async function unlessMissing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}
