// The real program for tests: a process of its own with a home of its own, on any free port.

import { type ChildProcess, spawn } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with \`cargo xtask test\``);
  return value;
}

/** The model that stands in the Hub's cache. */
export const MODEL = `${process.env["TOKBAR_MODEL_OWNER"] ?? "tests"}/${basename(process.env["TOKBAR_MODEL"] ?? "model")}`;
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

export interface Options {
  /** Where the Hub is; without one nothing outside is asked. */
  hub?: string;
}

export class Server {
  private constructor(
    private readonly child: ChildProcess,
    readonly home: string,
    readonly origin: string,
    readonly token: string,
  ) {}

  /** Serves no model; `models` says whether there is one on disk. */
  static async start(models: "none" | "one", options: Options = {}): Promise<Server> {
    const home = mkdtempSync(join(tmpdir(), "tokbar-ui-"));
    if (models === "one") stock(given("TOKBAR_MODEL"), join(home, "hf/hub", `models--${MODEL.replace("/", "--")}`));
    return Server.open(home, options);
  }

  private static async open(home: string, { hub = "http://127.0.0.1:9" }: Options): Promise<Server> {
    const child = spawn(given("TOKBAR_BIN"), ["serve", "--port", "0"], {
      cwd: home,
      env: {
        PATH: process.env["PATH"],
        LD_LIBRARY_PATH: process.env["LD_LIBRARY_PATH"],
        HOME: home,
        TOKBAR_CONFIG_DIR: join(home, "config"),
        XDG_CACHE_HOME: join(home, "cache"),
        HF_HOME: join(home, "hf"),
        TOKBAR_LOG: "error",
        HF_ENDPOINT: hub,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const page = await pageUrl(child);
    return new Server(child, home, page.origin, new URLSearchParams(page.hash.slice(1)).get("token") ?? "");
  }

  /** Ends it and starts another with the same home. */
  async again(options: Options = {}): Promise<Server> {
    await this.end();
    return Server.open(this.home, options);
  }

  /** The address that a person opens. */
  get link(): string {
    return `${this.origin}/#token=${this.token}`;
  }

  async post(path: string, body: unknown, method: "POST" | "PATCH" = "POST"): Promise<unknown> {
    const response = await fetch(`${this.origin}/control/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.origin}/control/v1/${path}`, { headers: { authorization: `Bearer ${this.token}` } });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async delete(path: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.token}` };
    const response = await fetch(`${this.origin}/control/v1/${path}`, { method: "DELETE", headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }

  /** The exit status, once it has been asked to end and has. */
  async end(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const ended = new Promise<number | null>((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGTERM");
    return ended;
  }

  async stop(): Promise<void> {
    await this.end();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** The link that the program prints for whoever manages it. */
function pageUrl(child: ChildProcess): Promise<URL> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error("no output"));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      const found = /http:\S+#token=\S+/.exec(line);
      if (found) resolve(new URL(found[0]));
    });
  });
}

/** A model as the Hub's cache has it; its files are links, copies without bytes. */
function stock(from: string, to: string): void {
  const snapshot = join(to, "snapshots", COMMIT);
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(to, "refs"));
  writeFileSync(join(to, "refs/main"), COMMIT);
  for (const name of readdirSync(from)) {
    if (statSync(join(from, name)).isFile()) linkSync(join(from, name), join(snapshot, name));
  }
}
