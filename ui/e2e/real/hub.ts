// A Hub on this machine: it has one model under whatever name is asked for, and sends its weights as far as a test lets it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const COMMIT = "89abcdef0123456789abcdef0123456789abcdef";
const N_CHUNK_BYTES = 64 << 10;

interface HubFile {
  bytes: Buffer;
  /** Git's name for it, or what large-file storage calls it. */
  hash: string;
}

export class Hub {
  /** What a search finds. */
  static readonly FOUND = "tests/found-by-search";
  /** Bytes of weights that went out. */
  nSent = 0;
  /** Whether files that are listed are gone. */
  isGone = false;
  #nAllowed = Infinity;
  #waiting: (() => void)[] = [];
  #bringing = new Set<ServerResponse>();

  private constructor(
    private readonly files: Map<string, HubFile>,
    private readonly http: HttpServer,
  ) {
    http.on("request", (request, response) => void this.#answer(request, response));
  }

  /** Serves the model in `folder`. */
  static async start(folder: string): Promise<Hub> {
    const names = readdirSync(folder).filter((name) => /\.(json|safetensors)$/.test(name) && statSync(join(folder, name)).isFile());
    const files = new Map(names.map((name) => [name, file(name, readFileSync(join(folder, name)))]));
    const http = createServer();
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    return new Hub(files, http);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get nWeightBytes(): number {
    return [...this.files].reduce((sum, [name, { bytes }]) => sum + (isWeights(name) ? bytes.length : 0), 0);
  }

  /** No more than these bytes of weights go out until `open`. */
  hold(nBytes: number): void {
    this.#nAllowed = this.nSent + nBytes;
  }

  open(): void {
    this.#nAllowed = Infinity;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Connections that bring weights now. */
  get nOpen(): number {
    return this.#bringing.size;
  }

  /** Drops every connection that brings weights now. */
  breakOff(): void {
    for (const response of this.#bringing) response.destroy();
  }

  async stop(): Promise<void> {
    this.open();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent((request.url ?? "").split("?")[0] ?? "");
    const [, id] = /^\/api\/models\/([^/]+\/[^/]+)/.exec(path) ?? [];
    if (path === "/api/models") return json(response, [{ id: Hub.FOUND, downloads: 1234, gated: false }]);
    if (id) return json(response, this.#listing(id));
    const found = this.files.get(path.split("/").at(-1) ?? "");
    if (!found || this.isGone) {
      response.writeHead(404).end("gone");
      return;
    }
    await this.#send(request, response, found, isWeights(path));
  }

  #listing(id: string): unknown {
    const siblings = [...this.files].map(([rfilename, { bytes, hash }]) => {
      const lfs = isWeights(rfilename) ? { lfs: { sha256: hash, size: bytes.length, pointerSize: 130 } } : {};
      return { rfilename, size: bytes.length, blobId: git(bytes), ...lfs };
    });
    return { id, sha: COMMIT, private: false, gated: false, siblings };
  }

  async #send(request: IncomingMessage, response: ServerResponse, { bytes, hash }: HubFile, areWeights: boolean): Promise<void> {
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const [start, end] = [Number(from ?? 0), to ? Math.min(bytes.length, Number(to) + 1) : bytes.length];
    response.writeHead(from === undefined ? 200 : 206, {
      "content-length": end - start,
      ...(from === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` }),
      etag: `"${hash}"`,
      "x-repo-commit": COMMIT,
    });
    if (!areWeights) {
      response.end(bytes.subarray(start, end));
      return;
    }
    this.#bringing.add(response);
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    void closed.then(() => this.#bringing.delete(response));
    for (let at = start; at < end && !response.destroyed; at += N_CHUNK_BYTES) {
      while (this.nSent >= this.#nAllowed && !response.destroyed) await Promise.race([this.#turn(), closed]);
      const chunk = bytes.subarray(at, Math.min(end, at + N_CHUNK_BYTES));
      this.nSent += chunk.length;
      if (!response.write(chunk)) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), closed]);
    }
    response.end();
  }

  /** Until more may go out. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

function isWeights(name: string): boolean {
  return name.endsWith(".safetensors");
}

function file(name: string, bytes: Buffer): HubFile {
  return { bytes, hash: isWeights(name) ? createHash("sha256").update(bytes).digest("hex") : git(bytes) };
}

function git(bytes: Buffer): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
