// The control API in TypeScript.

export interface Done { status: "ok" }
export type Level = "normal" | "warning" | "critical";

export interface Status {
  version: string; pid: number; uptime_s: number;
  endpoints: { openai: string; anthropic: string; ollama: string; control: string; lan: string[] };
  needs_key: boolean;                 // whether inference asks for a key
  state: State;
  is_safe_mode: boolean; safe_mode_note: string | null;
  pressure: Level;
  last_act: Act | null;               // last thing the memory policy did
}
export interface State {              // for menu and window: one value, words ready to show
  kind: "stopped" | "loading" | "prefill" | "generating" | "ready" | "leaving" | "refusing";
  model: string | null;
  part: number | null;                // loading, prefill
  left_s: number | null;              // prefill
  tokens_per_s: number | null;        // generating (decode)
  n_running: number; n_waiting: number;
  words: string;                      // "Qwen3.5-9B · 108 tok/s", "Loading 43 %", "Prefill 60 %", "Stopped"
}
export interface Act { at: string; words: string }

export interface Live {
  at: string; state: State;
  models: Resident[];
  speed: { decode_tps: number; prefill_tps: number; itl_p50_ms: number | null; itl_p95_ms: number | null };  // lately
  last_answer: LastAnswer | null;
  queue: { n_running: number; n_waiting: number };
  cache: { hit_rate: number | null; n_hit_tokens: number; n_prompt_tokens: number; n_kept_tokens: number; disk_bytes: number };
  drafts: { acceptance_rate: number | null; accepted_length_mean: number | null; n_drafted: number; n_accepted: number };
  memory: Memory;
  requests: RunningCall[];
  transfers: Transfer[];              // those that run
  acts: Act[];                        // newest last
}
export interface LastAnswer { model: string; client: string; ttft_ms: number; n_prompt: number; n_cached: number; n_output: number; tokens_per_s: number | null; at: string }
export interface Memory {
  total_bytes: number; apps_bytes: number; tokbar_bytes: number; free_bytes: number;
  model_bytes: number; cache_bytes: number;        // parts of tokbar_bytes
  kv: { n_tokens: number; n_bytes: number; n_budget_bytes: number | null };
  pressure: Level; pressure_history: { at: string; level: Level }[];   // changes, newest last
}
export interface Resident {
  id: string; state: "loading" | "ready" | "leaving"; loaded: number; n_bytes: number; is_pinned: boolean;
  n_running: number; n_waiting: number; unused_s: number;
  n_context: number | null; quantization: string | null; ready_s: number | null;
}
export interface RunningCall {
  id: string;                         // as in the answer's x-request-id
  kind: string;                       // "Chat", "Messages", "Responses", "Completion", "Ollama chat", "Ollama generate"
  client: string;                     // "Claude Code", "Continue", "Codex", "curl", … from User-Agent; "unknown"
  model: string;
  state: "waiting" | "prefill" | "decode";
  n_sequences: number; n_prompt: number; n_computed: number; n_cached: number; n_output: number;
  part: number | null; left_s: number | null;     // prefill
  tokens_per_s: number | null; age_s: number;
}

export interface Shelf {
  machine: Machine;
  recommended: { smart: string | null; fast: string | null; why: string };   // ids in `models`
  models: Model[];                    // on disk first, then the catalogue
}
export interface Machine { total_bytes: number; free_bytes: number; gpu_bytes: number | null; available_bytes: number; words: string }
export interface Model {
  id: string;                         // what every other call takes
  name: string;                       // to show
  aliases: string[];
  disk: Disk;
  resident: Resident | null;          // in memory or on its way
  transfer: Transfer | null;          // being downloaded
  fit: Fit | null;
  family: string | null; quantization: string | null; n_params: number | null; size_bytes: number | null; n_context: number | null;
  capabilities: string[];             // "chat", "tools", "thinking", "vision"
  can_run: boolean;                   // this build knows the family
  is_known: boolean;                  // in the catalogue
  decode_tps: number | null;          // measured by others, with their machine in notes
  notes: { text: string; source: string }[];
}
export interface Disk {
  state: "ready" | "partial" | "broken" | "absent";
  reason: string | null; path: string | null; n_bytes: number;
  owner: "hugging_face" | "lm_studio" | "ollama" | "person" | null; form: "safetensors" | "gguf" | null;
}
export interface Fit {
  verdict: "fits" | "tight" | "too_big";
  n_context: number; need_bytes: number; weight_bytes: number; kv_bytes: number; step_bytes: number; drafter_bytes: number;
  available_bytes: number; n_context_max: number | null; words: string;
}
export interface ModelDetail {
  model: Model;
  formats: { tools: Found; reasoning: Found } | null;     // null: not on disk
  has_chat_template: boolean; kv_bytes_per_token: number | null;
  fits: Fit[];                        // at 4k, 8k, 16k … up to the model's context
  settings: ModelSettings;
}
export interface Found { format: string | null; because: string }
export interface ModelSettings {      // null = as usual
  n_context: number | null;           // most tokens of a sequence
  kv_bits: 4 | 8 | null; speculation: "auto" | "off" | "ngram" | "draft" | null; draft_model: string | null;
  tool_format: string | null; reasoning_format: string | null; max_rows: number | null; is_pinned: boolean;
}
export interface Removal { model: string; path: string; n_bytes: number; owner: string; asks: boolean; words: string }
export interface Removed { model: string; path: string; n_bytes: number }
export interface PlaceInfo { owner: string; path: string; state: "present" | "absent" | "refused"; reason: string | null; n_models: number }
export interface Hit { id: string; n_downloads: number; size_bytes: number | null; is_gated: boolean; is_here: boolean; fit: Fit | null }
export interface Transfer {
  id: string; kind: "download" | "import"; model: string;
  state: "waiting" | "running" | "paused" | "done" | "failed" | "cancelled";
  n_bytes_done: number; n_bytes: number | null; bytes_per_s: number | null; left_s: number | null;
  error: string | null; path: string | null; started: string;
}
export interface SettingsAnswer { settings: Settings; needs_restart: string[]; path: string }
export interface Settings {
  start: { model: string | null; on_launch: boolean };
  server: { port: number | null; lan: "off" | "with_key" | "open"; allowed_origins: string[]; calls_per_minute: number };
  models: { idle_timeout_min: number; memory_budget_bytes: number | null; max_rows: number; kv_bits: 4 | 8 | null; speculation: "auto" | "off" | "ngram" };
  cache: { on_disk: boolean; dir: string | null; max_bytes: number | null };
  app: { language: "system" | "en" | "zh-Hans"; appearance: "system" | "light" | "dark"; icon_title: "none" | "speed"; shows_dock: boolean; checks_updates: boolean; login_item: boolean };
  power: { stay_awake: boolean };
  cloud: { is_on: boolean; dialect: "openai" | "anthropic"; base_url: string | null; model: string | null; threshold_tokens: number; key_from: "env" | "file" | "none" };
  mcp: { config: string | null };
}
export interface KeyInfo { name: string; scope: "inference" | "manage"; created: string }
export interface LogLine { at: string; level: "error" | "warn" | "info" | "debug"; target: string; message: string }
export interface ClientInfo { id: string; name: string; how: "config" | "env" | "steps" | "snippet"; is_installed: boolean | null; is_connected: boolean; path: string | null }
export interface ClientPlan { client: ClientInfo; files: { path: string; before: string | null; after: string; diff: string }[]; snippets: { title: string; language: string; text: string }[]; steps: string[]; is_removal_possible: boolean }
export interface ClientTest { ok: boolean; words: string; took_ms: number }
export interface BenchInfo { suites: { id: string; name: string; about: string; about_s: number }[]; runs: BenchRun[] }   // newest first
export interface BenchRun {
  id: string; suite: string; model: string; state: "running" | "done" | "failed" | "cancelled"; part: number | null; started: string;
  figures: { name: string; unit: string; value: number }[]; error: string | null; version: string; machine: string;
}
export interface DiskCache { dir: string | null; n_bytes: number; n_bytes_max: number | null; models: { label: string; n_bytes: number }[] }
export interface Finding { title: string; state: "good" | "note" | "bad"; detail: string; fix: string | null }
