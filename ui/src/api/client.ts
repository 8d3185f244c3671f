// Calls of the control API and of the model: loopback HTTP with the token of this launch.

import type { Session } from "./session";
import { events, type ServerEvent } from "./sse";

/** What a call came to when it did not succeed; the message can be shown as it is. */
export class Failure extends Error {
  constructor(
    message: string,
    /** HTTP status; 0 when nothing answered. */
    readonly status: number,
    readonly code: string | null = null,
    readonly param: string | null = null,
  ) {
    super(message);
    this.name = "Failure";
  }

  /** Nothing answers at all. */
  get isOffline(): boolean {
    return this.status === 0;
  }

  /** The page has no right to ask. */
  get isRefused(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
}

export class Client {
  constructor(
    readonly session: Session,
    private readonly fetcher: typeof fetch = (...given) => fetch(...given),
  ) {}

  get<T>(path: string, query: Query = {}, options: CallOptions = {}): Promise<T> {
    return this.json<T>("GET", path + search(query), undefined, options);
  }

  post<T>(path: string, body: unknown = {}, options: CallOptions = {}): Promise<T> {
    return this.json<T>("POST", path, body, options);
  }

  patch<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.json<T>("PATCH", path, body, options);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.json<T>("PUT", path, body, {});
  }

  delete<T>(path: string): Promise<T> {
    return this.json<T>("DELETE", path, undefined, {});
  }

  async text(path: string, query: Query = {}): Promise<string> {
    return (await this.call("GET", path + search(query), undefined, {})).text();
  }

  /** Once the server answers: events of a stream until it ends or `signal` says so. */
  async open(path: string, query: Query, options: CallOptions = {}): Promise<AsyncGenerator<ServerEvent>> {
    return this.read(await this.call("GET", path + search(query), undefined, options));
  }

  /** A stream that answers a body, with the answer's headers. */
  async ask(path: string, body: unknown, options: CallOptions): Promise<{ headers: Headers; events: AsyncGenerator<ServerEvent> }> {
    const response = await this.call("POST", path, body, options);
    return { headers: response.headers, events: this.read(response) };
  }

  private async *read(response: Response): AsyncGenerator<ServerEvent> {
    if (!response.body) throw new Failure("the server sent an empty stream", response.status);
    yield* events(response.body);
  }

  private async json<T>(method: string, path: string, body: unknown, options: CallOptions): Promise<T> {
    const response = await this.call(method, path, body, options);
    return (await response.json()) as T;
  }

  private async call(method: string, path: string, body: unknown, options: CallOptions): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    if (this.session.token) headers["authorization"] = `Bearer ${this.session.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const init: RequestInit = { method, headers, cache: "no-store", credentials: "omit", redirect: "error" };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (options.signal) init.signal = options.signal;
    let response: Response;
    try {
      response = await this.fetcher(this.session.base + path, init);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Failure("Tokbar does not answer", 0);
    }
    if (!response.ok) throw await failure(response);
    return response;
  }
}

/** Reads `{"error": {"message", "code", "param"}}`, and copes with anything else. */
async function failure(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => "");
  try {
    const error: unknown = JSON.parse(text)?.error;
    if (typeof error === "object" && error !== null && "message" in error) {
      const { message, code, param } = error as Record<string, unknown>;
      const word = (value: unknown) => (typeof value === "string" ? value : null);
      return new Failure(String(message), response.status, word(code), word(param));
    }
  } catch {
    // No JSON: said below.
  }
  return new Failure(`the server answered with status ${response.status}`, response.status);
}

function search(query: Query): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  if (pairs.length === 0) return "";
  return `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
