// A Mac with a model at work, for pictures: what the control API would say. Tests run against the real server.

import type {
  BenchInfo,
  ClientInfo,
  ClientPlan,
  DiskCache,
  Finding,
  Fit,
  KeyInfo,
  Live,
  LogLine,
  Model,
  ModelDetail,
  ModelSettings,
  PlaceInfo,
  Resident,
  Settings,
  Shelf,
  Status,
  ToolCensus,
  Transfer,
  WaitingCall,
} from "../../src/lib/control";
import type { Update } from "../../src/shell/desktop";

const GB = 1e9;
export const NOW = "2026-12-02T14:03:00Z";
const QWEN = "mlx-community/Qwen3.5-9B-4bit";
const GPT = "openai/gpt-oss-20b";

const ready: Resident = {
  id: QWEN, state: "ready", loaded: 1, n_bytes: 5.1 * GB, is_pinned: true, n_running: 3, n_waiting: 0, unused_s: 0,
  n_context: 32768, quantization: "4-bit", ready_s: 720,
};

const download: Transfer = {
  id: "t1", kind: "download", model: GPT, state: "running", n_bytes_done: 7.5 * GB, n_bytes: 12.1 * GB,
  bytes_per_s: 41e6, left_s: 112, error: null, path: null, started: "2026-12-02T14:00:00Z",
};

export const live: Live = {
  at: NOW,
  state: { kind: "generating", model: QWEN, part: null, left_s: null, tokens_per_s: 108, n_running: 3, n_waiting: 0, words: "Qwen3.5-9B · 108 tok/s" },
  models: [ready],
  speed: { decode_tps: 108, prefill_tps: 1420, itl_p50_ms: 9, itl_p95_ms: 12 },
  last_answer: { model: QWEN, client: "Claude Code", ttft_ms: 140, n_prompt: 6604, n_cached: 6212, n_output: 318, tokens_per_s: 61, at: NOW },
  queue: { n_running: 3, n_waiting: 0 },
  cache: { hit_rate: 0.91, n_hit_tokens: 182000, n_prompt_tokens: 200000, n_kept_tokens: 48000, disk_bytes: 3.2 * GB },
  drafts: { acceptance_rate: 0.71, accepted_length_mean: 2.6, n_drafted: 8214, n_accepted: 5832 },
  memory: {
    total_bytes: 24 * GB, apps_bytes: 9.1 * GB, tokbar_bytes: 8.2 * GB, free_bytes: 6.7 * GB, model_bytes: 5.7 * GB, cache_bytes: 2.2 * GB,
    kv: { n_tokens: 48000, n_bytes: 2.2 * GB, n_budget_bytes: 4 * GB }, pressure: "normal",
    pressure_history: [
      { at: "2026-12-02T11:00:00Z", level: "normal" }, { at: "2026-12-02T13:58:00Z", level: "warning" },
      { at: "2026-12-02T14:01:00Z", level: "critical" }, { at: "2026-12-02T14:02:00Z", level: "normal" },
    ],
  },
  requests: [
    { id: "a", kind: "Messages", client: "Claude Code", model: QWEN, state: "decode", n_sequences: 1, n_prompt: 18802, n_computed: 18802, n_cached: 17920, n_output: 214, part: null, left_s: null, tokens_per_s: 61, age_s: 4 },
    { id: "b", kind: "Chat", client: "Continue", model: QWEN, state: "decode", n_sequences: 1, n_prompt: 1904, n_computed: 1904, n_cached: 1536, n_output: 38, part: null, left_s: null, tokens_per_s: 47, age_s: 2 },
    { id: "c", kind: "Responses", client: "Codex", model: QWEN, state: "prefill", n_sequences: 1, n_prompt: 9000, n_computed: 5400, n_cached: 0, n_output: 0, part: 0.6, left_s: 3, tokens_per_s: null, age_s: 5 },
  ],
  transfers: [download],
  acts: [{ at: "2026-12-02T14:02:00Z", words: "cache moved 1.1 GB to disk" }],
};

const SPEEDS = [18, 22, 70, 76, 60, 82, 78, 15, 13, 13, 92, 95, 84, 96, 92, 100, 104, 94, 107, 103];

/** A minute of frames, a second apart. */
export const minute: Live[] = Array.from({ length: 60 }, (_, idx) => {
  const at = idx / 3;
  const [low, high] = [SPEEDS[Math.floor(at)] ?? 108, SPEEDS[Math.ceil(at)] ?? 108];
  const decode_tps = idx === 59 ? 108 : low + (high - low) * (at % 1);
  return { ...live, at: new Date(Date.parse(NOW) - (59 - idx) * 1000).toISOString(), speed: { ...live.speed, decode_tps, itl_p50_ms: 9 + (100 - decode_tps) / 40 } };
});

function fit(verdict: Fit["verdict"], need: number, n_context: number, n_context_max: number | null): Fit {
  const kv = (n_context / 32768) * 1.4 * GB;
  return {
    verdict, n_context, need_bytes: need * GB, weight_bytes: need * GB - kv - 0.9 * GB, kv_bytes: kv, step_bytes: 0.9 * GB, drafter_bytes: 0,
    available_bytes: 15.9 * GB, n_context_max, words: "",
  };
}

function model(id: string, name: string, change: Partial<Model>): Model {
  return {
    id, name, aliases: [], disk: { state: "absent", reason: null, path: null, n_bytes: 0, owner: null, form: null }, resident: null, transfer: null,
    fit: null, family: "qwen3_5", quantization: "4-bit", n_params: null, size_bytes: null, n_context: 262144,
    capabilities: ["chat", "tools", "thinking"], can_run: true, is_known: true, decode_tps: null, notes: [], ...change,
  };
}

function here(path: string, gigabytes: number): Model["disk"] {
  return { state: "ready", reason: null, path, n_bytes: gigabytes * GB, owner: "hugging_face", form: "safetensors" };
}

export const models: Model[] = [
  model(QWEN, "Qwen3.5 9B", { disk: here("~/.cache/huggingface/hub/models--mlx-community--Qwen3.5-9B-4bit", 5.1), resident: ready, fit: fit("fits", 7.9, 32768, 131072), size_bytes: 5.1 * GB }),
  model("mlx-community/SmolLM2-135M-Instruct", "SmolLM2 135M", { disk: here("~/.cache/huggingface/hub/models--SmolLM2", 0.098), fit: fit("fits", 0.4, 8192, 8192), quantization: "Q4", capabilities: ["chat"], size_bytes: 98e6 }),
  model(GPT, "GPT-OSS 20B", { transfer: download, fit: fit("fits", 13.9, 16384, 65536), quantization: "mxfp4", size_bytes: 12.1 * GB }),
  model("someone/odd-model", "Odd 7B", { disk: { ...here("~/models/odd", 4.1), state: "partial", reason: "model-00002-of-00003.safetensors is not there. Download it again." }, fit: null, size_bytes: 4.1 * GB, is_known: false }),
  model("mlx-community/Qwen3.5-27B-4bit", "Qwen3.5 27B", { fit: fit("tight", 17.4, 32768, 12288), size_bytes: 15.3 * GB }),
  model("mlx-community/Qwen3.5-35B-A3B-8bit", "Qwen3.5 35B-A3B", { fit: fit("too_big", 39, 32768, null), quantization: "8-bit", size_bytes: 37 * GB }),
  model("mlx-community/Devstral-Small-2-24B-4bit", "Devstral Small 2 24B", { fit: fit("fits", 15.2, 16384, 16384), capabilities: ["chat", "tools", "code"], size_bytes: 13.4 * GB }),
  model("mlx-community/Qwen3.5-4B-4bit", "Qwen3.5 4B", { fit: fit("fits", 4.2, 32768, 262144), size_bytes: 2.4 * GB, decode_tps: 71 }),
];

export const shelf: Shelf = {
  machine: { total_bytes: 24 * GB, free_bytes: 7 * GB, gpu_bytes: 16 * GB, available_bytes: 15.9 * GB, words: "" },
  recommended: { smart: "mlx-community/Devstral-Small-2-24B-4bit", fast: "mlx-community/Qwen3.5-4B-4bit", why: "The strongest known model that fits this Mac with 16k of context and leaves room for your apps." },
  models,
};

export const modelSettings: ModelSettings = {
  n_context: 32768, kv_bits: null, speculation: "auto", draft_model: null, tool_format: null, reasoning_format: null, max_rows: null, is_pinned: true,
};

export const detail: ModelDetail = {
  model: models[0] as Model,
  formats: {
    tools: { format: "qwen3_coder", because: "the chat template writes <tool_call> and <function=" },
    reasoning: { format: "think", because: "the chat template opens <think> before the answer" },
  },
  has_chat_template: true, kv_bytes_per_token: 45_000,
  fits: [fit("fits", 6.4, 4096, null), fit("fits", 6.7, 8192, null), fit("fits", 7.2, 16384, null), fit("fits", 7.9, 32768, null), fit("tight", 15.4, 131072, null), fit("too_big", 21, 262144, null)],
  settings: modelSettings,
};

export const status: Status = {
  version: "0.1.0", pid: 4711, uptime_s: 15_120,
  endpoints: { openai: "http://localhost:8000/v1", anthropic: "http://localhost:8000", ollama: "http://localhost:8000", control: "http://localhost:8000/control/v1", lan: [] },
  needs_key: false, state: live.state, is_safe_mode: false, safe_mode_note: null, pressure: "normal", last_act: live.acts[0] ?? null,
};

export const settings: Settings = {
  start: { model: null, on_launch: true },
  server: { port: null, lan: "off", allowed_origins: [], calls_per_minute: 6000 },
  models: { idle_timeout_min: 30, memory_budget_bytes: null, max_rows: 8, kv_bits: null, speculation: "auto" },
  cache: { on_disk: true, dir: null, max_bytes: 20 * GB, reserve_bytes: null },
  app: { language: "system", appearance: "system", icon_title: "none", shows_dock: false, checks_updates: true, login_item: false },
  power: { stay_awake: true },
  cloud: { is_on: true, dialect: "openai", base_url: "https://api.example.com/v1", model: "large", threshold_tokens: 16000, key_from: "keychain" },
  mcp: { config: "/opt/mcp.json", allow: ["files__read"] },
};

export const keys: KeyInfo[] = [
  { name: "laptop", scope: "inference", created: "2026-11-20T09:12:00Z" },
  { name: "studio", scope: "manage", created: "2026-11-28T17:40:00Z" },
];

export const places: PlaceInfo[] = [
  { owner: "hugging_face", path: "~/.cache/huggingface/hub", state: "present", reason: null, n_models: 3 },
  { owner: "lm_studio", path: "~/.lmstudio/models", state: "present", reason: null, n_models: 1 },
  { owner: "person", path: "/Volumes/Models", state: "absent", reason: null, n_models: 0 },
];

export const disk: DiskCache = { dir: "~/Library/Caches/Tokbar", n_bytes: 3.2 * GB, n_bytes_max: 20 * GB, models: [{ label: QWEN, n_bytes: 3.2 * GB }] };

export const tools: ToolCensus = {
  sources: [{ name: "files", tools: ["read", "search", "write"], trouble: null }, { name: "web", tools: null, trouble: null }],
  waiting: [],
};

export const question: WaitingCall = { id: 1, tool: "files__write", arguments: { path: "notes/release.md", text: "Ship on Friday." } };

export const update: Update = {
  words: "", is_looking: false,
  ready: { version: "0.2.0", notes: "Prompts that begin alike are shared between models.\nDownloads go on after the Mac has slept.\nLess memory while a model loads." },
};

export const findings: Finding[] = [
  { title: "Metal", state: "good", detail: "Apple M3 Pro, 18 GPU cores, 24 GB of unified memory", fix: null },
  { title: "Memory", state: "good", detail: "6.7 GB free, pressure normal", fix: null },
  { title: "Disk", state: "note", detail: "31 GB free; a 20 GB model would leave little", fix: "Delete models that you no longer use in Models." },
  { title: "Hugging Face", state: "bad", detail: "huggingface.co does not answer", fix: "Check the network, or set a mirror with HF_ENDPOINT." },
];

export const clients: ClientInfo[] = [
  { id: "claude", name: "Claude Code", how: "config", is_installed: true, is_connected: true, path: "~/.claude/settings.json" },
  { id: "codex", name: "Codex", how: "config", is_installed: true, is_connected: false, path: "~/.codex/config.toml" },
  { id: "continue", name: "Continue", how: "config", is_installed: true, is_connected: false, path: "~/.continue/config.yaml" },
  { id: "zed", name: "Zed", how: "config", is_installed: false, is_connected: false, path: "~/.config/zed/settings.json" },
  { id: "xcode", name: "Xcode", how: "steps", is_installed: null, is_connected: false, path: null },
  { id: "python", name: "OpenAI SDK", how: "snippet", is_installed: null, is_connected: false, path: null },
];

export const plan: ClientPlan = {
  client: clients[1] as ClientInfo,
  files: [{
    path: "~/.codex/config.toml", before: "model = \"gpt-5\"\n", after: "",
    diff: "--- a\n+++ b\n@@ -1,3 +1,9 @@\n-model = \"gpt-5\"\n+model = \"default\"\n+model_provider = \"tokbar\"\n+\n+[model_providers.tokbar]\n+name = \"Tokbar\"\n+base_url = \"http://localhost:8000/v1\"\n [projects.\"~/code\"]\n trust_level = \"trusted\"\n",
  }],
  snippets: [{ title: "Or for one run", language: "sh", text: "codex -c model_provider=tokbar" }], steps: [], is_removal_possible: true,
};

const figure = (name: string, unit: string, value: number) => ({ name, unit, value });

export const bench: BenchInfo = {
  suites: [
    { id: "cold", name: "Cold prompts", about: "First token and decode without any cache", about_s: 90 },
    { id: "prefix", name: "Repeated prompts", about: "What the prefix cache saves", about_s: 60 },
    { id: "agent", name: "Agent", about: "A long tool conversation, turn by turn", about_s: 240 },
  ],
  runs: [0, 1, 2, 3, 4].map((idx) => ({
    id: `r${idx}`, suite: "cold", model: QWEN, state: idx === 3 ? ("failed" as const) : ("done" as const), part: null,
    started: `2026-12-0${idx < 2 ? 2 : 1}T1${5 - idx}:20:00Z`,
    figures: idx === 3 ? [] : [figure("Decode", "tok/s", 108 - 7 * idx), figure("Prefill", "tok/s", 1420 - 90 * idx), figure("First token p50", "ms", 140 + 22 * idx), figure("Gap p95", "ms", 12 + idx)],
    error: idx === 3 ? "the model was unloaded while it ran; load it and run again" : null, version: "0.1.0", machine: "Apple M3 Pro",
  })),
};

const line = (at: string, level: LogLine["level"], target: string, message: string): LogLine => ({ at: `2026-12-02T${at}Z`, level, target, message });

export const logs: LogLine[] = [
  line("13:50:58", "info", "tokbar_app::host", "listening on 127.0.0.1:8000"),
  line("13:51:02", "info", "tokbar_app::lifecycle", "loading mlx-community/Qwen3.5-9B-4bit"),
  line("13:51:07", "info", "tokbar_app::lifecycle", "loaded in 4.8 s: 5.1 GB of weights, 32768 tokens of context"),
  line("13:54:11", "info", "tokbar_server::calls", "POST /v1/messages 200 in 2.1 s: 6604 prompt tokens, 6212 cached, 318 out"),
  line("13:58:00", "warn", "tokbar_app::pressure", "memory pressure is warning: prefix cache goes to disk"),
  line("14:01:40", "error", "tokbar_hub::download", "huggingface.co broke the connection off; going on from 7.1 GB"),
  line("14:02:00", "info", "tokbar_app::pressure", "cache moved 1.1 GB to disk; memory pressure is normal"),
  line("14:02:31", "info", "tokbar_server::calls", "POST /v1/chat/completions 200 in 0.9 s: 1904 prompt tokens, 1536 cached, 38 out"),
];
