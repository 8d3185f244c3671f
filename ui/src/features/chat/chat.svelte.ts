// The conversation at hand: sends, streams, stops and keeps.

import { Failure, isAbort, type Client } from "../../api/client";
import { announce } from "../../shell/announce.svelte";
import type { ChatMessage, Conversation, ConversationList } from "../../lib/control";
import { Loader } from "../../state/loader.svelte";
import { figures, newConversation, newMessage, take, titleOf, wireMessages, type Chunk } from "./conversation";
import type { ConversationStore } from "./store";
import { chatTexts } from "./strings";

/** The page is drawn anew at most this often while an answer comes. */
const PAINT_MS = 50;

export class Chat {
  readonly entries: Loader<ConversationList>;
  words = $state("");
  conversation = $state<Conversation>(newConversation(crypto.randomUUID(), Date.now(), null));
  isAnswering = $state(false);
  /** Why something waits to be kept; `null` when all is. */
  unkept = $state<string | null>(null);
  #stop: AbortController | null = null;
  #deleted = new Set<string>();

  constructor(
    private readonly client: Client,
    private readonly store: ConversationStore,
  ) {
    this.entries = new Loader(() => store.list(this.words));
  }

  find(words: string): Promise<void> {
    this.words = words;
    return this.entries.load();
  }

  /** Hands over what waits: once the server answers again, or when asked to. */
  flush = async (): Promise<void> => {
    this.unkept = await this.store.flush();
    await this.entries.load();
  };

  start(model: string | null): void {
    this.stop();
    this.conversation = newConversation(crypto.randomUUID(), Date.now(), model ?? this.conversation.model);
  }

  async open(id: string): Promise<boolean> {
    if (id === this.conversation.id) return true;
    const kept = await this.store.get(id);
    if (!kept) return false;
    this.stop();
    this.conversation = kept;
    return true;
  }

  async delete(id: string): Promise<void> {
    // An answer that ends meanwhile must not bring it back.
    this.#deleted.add(id);
    try {
      await this.store.delete(id);
    } catch (error) {
      this.#deleted.delete(id);
      throw error;
    }
    if (id === this.conversation.id) this.start(null);
    await this.entries.load();
  }

  async send(text: string, images: string[], model: string): Promise<void> {
    this.conversation.messages.push({ ...newMessage(crypto.randomUUID(), "user", text), images });
    await this.#answer(model);
  }

  /** Answers the last question anew. */
  async again(model: string): Promise<void> {
    const { messages } = this.conversation;
    while (messages.at(-1)?.role === "assistant") messages.pop();
    if (messages.length > 0) await this.#answer(model);
  }

  /** Another text in place of an earlier one; what followed it goes. */
  async edit(id: string, text: string, model: string): Promise<void> {
    const { messages } = this.conversation;
    const idx = messages.findIndex((message) => message.id === id);
    const old = messages[idx];
    if (!old) return;
    messages.splice(idx);
    await this.send(text, $state.snapshot(old.images), model);
  }

  stop = (): void => {
    this.#stop?.abort();
  };

  /** Never fails: what cannot be kept now waits, and is said. */
  async #keep(conversation: Conversation): Promise<void> {
    if (this.#deleted.has(conversation.id)) return;
    conversation.title = titleOf(conversation);
    conversation.updated_ms = Date.now();
    try {
      this.unkept = await this.store.put($state.snapshot(conversation) as Conversation);
    } catch (error) {
      this.unkept = error instanceof Error ? error.message : String(error);
    }
    await this.entries.load();
  }

  async #answer(model: string): Promise<void> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    this.isAnswering = true;
    const { conversation } = this;
    conversation.model = model;
    const body = {
      model,
      messages: wireMessages($state.snapshot(conversation) as Conversation),
      stream: true,
      stream_options: { include_usage: true },
      ...(conversation.temperature !== null ? { temperature: conversation.temperature } : {}),
    };
    conversation.messages.push({ ...newMessage(crypto.randomUUID(), "assistant", ""), model });
    // The proxy, so that what is written to it is seen.
    const answer = conversation.messages.at(-1) as ChatMessage;
    await this.#keep(conversation);
    announce(chatTexts.now.answering);
    try {
      await this.#stream(answer, body, stop.signal);
    } catch (error) {
      if (isAbort(error)) answer.finish = "stopped";
      else answer.error = error instanceof Failure || error instanceof Error ? error.message : String(error);
    }
    answer.finish ??= "stop";
    if (this.#stop === stop) {
      this.isAnswering = false;
      this.#stop = null;
    }
    announce(answer.error ?? chatTexts.now.answered);
    // The answer may end when another conversation is shown.
    await this.#keep(conversation);
  }

  async #stream(answer: ChatMessage, body: unknown, signal: AbortSignal): Promise<void> {
    const asked = performance.now();
    let first: number | null = null;
    let pending: Chunk[] = [];
    let painted = 0;
    const paint = () => {
      painted = performance.now();
      const chunks = pending;
      pending = [];
      for (const chunk of chunks) take(answer, chunk);
    };
    const reply = await this.client.ask("/v1/chat/completions", body, { signal, headers: { "x-tokbar-client": "Tokbar" } });
    answer.notice = reply.headers.get("x-tokbar-notice") ?? reply.headers.get("x-tokbar-routed");
    try {
      for await (const { data } of reply.events) {
        if (data === "[DONE]") break;
        const chunk = JSON.parse(data) as Chunk;
        pending.push(chunk);
        if (first === null && hasOutput(chunk)) first = performance.now();
        if (chunk.usage) answer.figures = figures(chunk.usage, (first ?? performance.now()) - asked, performance.now() - asked);
        if (performance.now() - painted >= PAINT_MS) paint();
      }
    } finally {
      paint();
    }
  }
}

function hasOutput(chunk: Chunk): boolean {
  return take(newMessage("", "assistant", ""), chunk);
}
