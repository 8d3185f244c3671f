// Written by `cargo xtask bindings` from the types of crates/server/src/control: change those.

/** Something that was done with models or memory. */
export interface Act {
  /** When, in UTC. */
  at: string;
  /** What. */
  words: string;
}

/** The program itself. */
export interface AppSettings {
  /** `system`, `en` or `zh-Hans`. */
  language: "system" | "en" | "zh-Hans";
  /** `system`, `light` or `dark`. */
  appearance: "system" | "light" | "dark";
  /** What stands beside the icon in the menu bar: `none` or `speed`. */
  icon_title: "none" | "speed";
  /** Whether the Dock shows it, too. */
  shows_dock: boolean;
  /** Whether it looks for updates. */
  checks_updates: boolean;
  /** Whether it starts with the session, as a person last decided. */
  login_item: boolean;
}

/** A client to set up. */
export interface ApplyBody {
  /** Its id. */
  client: string;
  /** The model that it is to use; the one that is loaded by default. */
  model?: string | null;
  /** The key that it is to send, where the server asks for one. */
  key?: string | null;
}

/** What to measure. */
export interface BenchBody {
  /** Id of the suite. */
  suite: string;
  /** The model; the one that is loaded by default. */
  model?: string | null;
}

/** A figure. */
export interface BenchFigure {
  /** What it is. */
  name: string;
  /** Such as `tok/s`. */
  unit: string;
  /** How much. */
  value: number;
}

/** What can be measured, and what was. */
export interface BenchInfo {
  /** What can be measured. */
  suites: BenchSuite[];
  /** The newest first. */
  runs: BenchRun[];
}

/** A measurement. */
export interface BenchRun {
  /** Names it. */
  id: string;
  /** Of which suite. */
  suite: string;
  /** Of which model. */
  model: string;
  /** How it stands. */
  state: BenchState;
  /** Part that is done, while it runs. */
  part: number | null;
  /** When it began, in UTC. */
  started: string;
  /** What was measured. */
  figures: BenchFigure[];
  /** Why it failed. */
  error: string | null;
  /** Of this program. */
  version: string;
  /** What it ran on. */
  machine: string;
}

/** How a measurement stands. */
export type BenchState = "running" | "done" | "failed" | "cancelled";

/** Something that can be measured. */
export interface BenchSuite {
  /** Names it. */
  id: string;
  /** To show. */
  name: string;
  /** What it tells. */
  about: string;
  /** About how many seconds it takes. */
  about_s: number;
}

/** The KV cache on disk. */
export interface CacheSettings {
  /** Whether there is one. */
  on_disk: boolean;
  /** Its folder; `null` is the usual one. */
  dir: string | null;
  /** Most bytes; `null` is a tenth of the disk, at most 32 GiB. */
  max_bytes: number | null;
  /** Bytes of the disk that stay free; `null` is 5 GiB, or a twentieth of a smaller disk. */
  reserve_bytes: number | null;
}

/** What kept KV saves. */
export interface CacheUse {
  /** Part of all prompt tokens that came from kept KV; `null` before the first. */
  hit_rate: number | null;
  /** Prompt tokens that came from kept KV. */
  n_hit_tokens: number;
  /** Prompt tokens that were computed. */
  n_prompt_tokens: number;
  /** Positions that are kept. */
  n_kept_tokens: number;
  /** Bytes on disk. */
  disk_bytes: number;
}

/** A model's part of the cache. */
export interface CachedModel {
  /** Its name. */
  label: string;
  /** Bytes. */
  n_bytes: number;
}

/** What is being done for a call. */
export type CallState = "waiting" | "prefill" | "decode";

/** All calls that run. */
export interface Calls {
  /** The oldest first. */
  requests: RunningCall[];
}

/** A tool that was called. */
export interface ChatCall {
  /** Names it. */
  id: string;
  /** The tool. */
  name: string;
  /** Its arguments, as the model wrote them. */
  args: string;
}

/** How fast an answer came. */
export interface ChatFigures {
  /** Time to the first token. */
  ttft_ms: number;
  /** Decode throughput; `null` for an answer too short to tell. */
  tokens_per_second: number | null;
  /** Tokens of the answer. */
  n_output: number;
  /** Tokens of the prompt. */
  n_prompt: number;
  /** Those of them that were kept from before. */
  n_cached: number;
}

/** What one side said. */
export interface ChatMessage {
  /** Names it in its conversation. */
  id: string;
  /** Who said it. */
  role: ChatRole;
  /** The text. */
  text: string;
  /** What a model thought before. */
  reasoning: string;
  /** Tools that it called. */
  tools: ChatCall[];
  /** Pictures, as `data:` URLs. */
  images: string[];
  /** The model that answered. */
  model: string | null;
  /** How fast. */
  figures: ChatFigures | null;
  /** Why it ended, as the wire says, or `stopped` by the person. */
  finish: string | null;
  /** What went wrong. */
  error: string | null;
  /** What the server did besides. */
  notice: string | null;
}

/** Who said something. */
export type ChatRole = "user" | "assistant";

/** A file that is written for a client. */
export interface ClientFile {
  /** Where. */
  path: string;
  /** What it holds now; `null` if it is not there. */
  before: string | null;
  /** What it will hold. */
  after: string;
  /** The lines that change. */
  diff: string;
}

/** How a client is told where the server is. */
export type ClientHow = "config" | "env" | "steps" | "snippet";

/** A client. */
export interface ClientInfo {
  /** Names it. */
  id: string;
  /** To show. */
  name: string;
  /** How it is told. */
  how: ClientHow;
  /** Whether it is on this machine, if that can be seen. */
  is_installed: boolean | null;
  /** Whether it is set up. */
  is_connected: boolean;
  /** Its settings. */
  path: string | null;
}

/** All clients. */
export interface ClientList {
  /** By name. */
  clients: ClientInfo[];
}

/** What setting a client up does. */
export interface ClientPlan {
  /** Which client. */
  client: ClientInfo;
  /** Files that are written. */
  files: ClientFile[];
  /** Text to copy. */
  snippets: Snippet[];
  /** What a person does. */
  steps: string[];
  /** Whether there is something to take back. */
  is_removal_possible: boolean;
}

/** How a call as the client makes it went. */
export interface ClientTest {
  /** Whether it was answered. */
  ok: boolean;
  /** The answer, or what went wrong and what to do. */
  words: string;
  /** Milliseconds. */
  took_ms: number;
}

/** What a server in the cloud speaks. */
export type CloudDialect = "openai" | "anthropic";

/** A key to keep. */
export interface CloudKeyBody {
  /** The key. */
  key: string;
}

/** Whether there is a key, without the key. */
export interface CloudKeyInfo {
  /** Whether there is one. */
  is_kept: boolean;
  /** The file that it is kept in; `null` is the system's keychain. */
  path: string | null;
}

/** Where long prompts may go. */
export interface CloudSettings {
  /** Whether any do. */
  is_on: boolean;
  /** What the other server speaks. */
  dialect: CloudDialect;
  /** Its address, such as `https://api.openai.com/v1`. */
  base_url: string | null;
  /** The model there. */
  model: string | null;
  /** Tokens to compute from which on a prompt goes there. */
  threshold_tokens: number;
  /** Where its key is read from: `env` (`TOKBAR_CLOUD_KEY`), `file` (`cloud.key` of the settings' folder), `keychain` (this user's secret `cloud`) or `none`. */
  key_from: "env" | "file" | "keychain" | "none";
}

/** A conversation, whole. */
export interface Conversation {
  /** Names it: letters, digits, `-` and `_`, up to 64. */
  id: string;
  /** Up to 1000 characters. */
  title: string;
  /** The model that answers next. */
  model: string | null;
  /** What the model is told before. */
  instructions: string;
  /** How freely it answers; `null` as the model has it. */
  temperature: number | null;
  /** When it began, in milliseconds since 1970. */
  created_ms: number;
  /** When it last changed. */
  updated_ms: number;
  /** What was said. */
  messages: ChatMessage[];
}

/** What a list shows of a conversation. */
export interface ConversationEntry {
  /** Names it. */
  id: string;
  /** Its title. */
  title: string;
  /** When it last changed, in milliseconds since 1970. */
  updated_ms: number;
  /** How many messages it has. */
  n_messages: number;
}

/** Conversations that were asked for. */
export interface ConversationList {
  /** The newest first. */
  conversations: ConversationEntry[];
  /** How many there are in all. */
  n_kept: number;
  /** What became of a file that was damaged, and where it lies. */
  note: string | null;
}

/** A word on a call. */
export interface Decision {
  /** Which call. */
  id: number;
  /** The word. */
  word: Word;
}

/** A model to remove. */
export interface DeleteBody {
  /** Its id, or its path. */
  model: string;
  /** Whether somebody agreed that others lose it, too. */
  consent?: boolean;
}

/** A format and why it is taken. */
export interface Detected {
  /** Its name; `null` for none. */
  format: string | null;
  /** Why. */
  because: string;
}

/** A model's files. */
export interface Disk {
  /** Whether they can be used. */
  state: DiskState;
  /** What is missing or wrong. */
  reason: string | null;
  /** Folder or file. */
  path: string | null;
  /** Bytes that they take. */
  n_bytes: number;
  /** `hugging_face`, `lm_studio`, `ollama` or `person`. */
  owner: "hugging_face" | "lm_studio" | "ollama" | "person" | null;
  /** `safetensors` or `gguf`. */
  form: "safetensors" | "gguf" | null;
}

/** The KV cache on disk. */
export interface DiskCache {
  /** Its folder; `null` where there is none. */
  dir: string | null;
  /** Bytes in it. */
  n_bytes: number;
  /** Most bytes. */
  n_bytes_max: number | null;
  /** By model. */
  models: CachedModel[];
}

/** Whether files can be used. */
export type DiskState = "ready" | "partial" | "broken" | "absent";

/** It is done. */
export interface Done {
  /** `ok`. */
  status: "ok";
}

/** What to download. */
export interface DownloadBody {
  /** A short name, or `owner/name` of the Hub. */
  model: string;
  /** Branch, tag or commit; `main` by default. */
  revision?: string | null;
}

/** What drafts save. */
export interface DraftUse {
  /** Part of all drafts that were right; `null` before the first. */
  acceptance_rate: number | null;
  /** Tokens of a step that verified drafts, on average. */
  accepted_length_mean: number | null;
  /** Drafts. */
  n_drafted: number;
  /** Drafts that were right. */
  n_accepted: number;
}

/** Where clients find the server. */
export interface Endpoints {
  /** For OpenAI's clients. */
  openai: string;
  /** For Anthropic's clients. */
  anthropic: string;
  /** For Ollama's clients. */
  ollama: string;
  /** For whoever manages it. */
  control: string;
  /** For OpenAI's clients on other machines. */
  lan: string[];
}

/** As what a run is written. */
export type ExportFormat = "json" | "csv";

/** Something that was looked at. */
export interface Finding {
  /** What. */
  title: string;
  /** How it stands. */
  state: FindingState;
  /** What was seen. */
  detail: string;
  /** What helps. */
  fix: string | null;
}

/** How something stands. */
export type FindingState = "good" | "note" | "bad";

/** All findings. */
export interface Findings {
  /** In the order looked at. */
  findings: Finding[];
}

/** A verdict with its sum, in bytes. */
export interface Fit {
  /** In short. */
  verdict: Verdict;
  /** Tokens of context. */
  n_context: number;
  /** All that it takes. */
  need_bytes: number;
  /** Of that, weights. */
  weight_bytes: number;
  /** Of that, state of a sequence. */
  kv_bytes: number;
  /** Of that, what a step computes with. */
  step_bytes: number;
  /** Of that, the model that drafts. */
  drafter_bytes: number;
  /** What there is. */
  available_bytes: number;
  /** Longest context that fits, in tokens. */
  n_context_max: number | null;
  /** The sum in words, and what to do. */
  words: string;
}

/** For how much context. */
export interface ForContext {
  /** Tokens of context that a model must have room for; 8192 by default. */
  context?: number | null;
}

/** Which conversations. */
export interface ForConversations {
  /** Words that must all stand in it, in any case. */
  q?: string;
  /** Most of them. */
  limit?: number;
}

/** A run as a file. */
export interface ForExport {
  /** Its id. */
  id: string;
  /** As what. */
  format?: ExportFormat;
}

/** Which lines. */
export interface ForLines {
  /** The least grave; `info` by default. */
  level?: LogLevel;
  /** Lines of the past, up to 5000; 200 by default. */
  tail?: number | null;
  /** Whether lines to come are told, too; yes by default. */
  follow?: boolean | null;
}

/** How often. */
export interface ForPeriod {
  /** Milliseconds between two frames, 250 to 60000; 1000 by default. */
  every_ms?: number | null;
}

/** Words to look for. */
export interface ForWords {
  /** Words of the name. */
  q: string;
  /** Most models shown, up to 100; 20 by default. */
  limit?: number | null;
}

/** How a model writes tool calls and reasoning. */
export interface Formats {
  /** Tool calls. */
  tools: Detected;
  /** Reasoning. */
  reasoning: Detected;
}

/** What a search found. */
export interface Found {
  /** The most downloaded first. */
  hits: Hit[];
  /** Whether the network is switched off, so that nothing was asked. */
  is_offline: boolean;
}

/** A model on the Hub. */
export interface Hit {
  /** `owner/name`. */
  id: string;
  /** Downloads of the last month. */
  n_downloads: number;
  /** Bytes of the weights, where they are known. */
  size_bytes: number | null;
  /** Whether its terms must be accepted first. */
  is_gated: boolean;
  /** Whether it is on this machine. */
  is_here: boolean;
  /** Whether it fits. */
  fit: Fit | null;
}

/** What to import. */
export interface ImportBody {
  /** The GGUF file. */
  path: string;
  /** Bits for weights that MLX cannot take over as they are; 2 to 8. */
  quantize?: number | null;
}

/** How models are kept. */
export interface KeepSettings {
  /** Minutes after which an unused model is unloaded; 0 is never. */
  idle_timeout_min: number;
  /** Bytes for all models; `null` is what the machine has free. */
  memory_budget_bytes: number | null;
  /** Most sequences of a model at once. */
  max_rows: number;
  /** Bits of an element of kept KV: 4 or 8; `null` as computed. */
  kv_bits: 4 | 8 | null;
  /** Where drafts come from: `auto`, `off` or `ngram`. */
  speculation: "auto" | "off" | "ngram";
}

/** A key to make. */
export interface KeyBody {
  /** Letters, digits, `-`, `_` and `.`, up to 64. */
  name: string;
  /** What its holder may do. */
  scope?: Scope;
}

/** A key, without its secret. */
export interface KeyInfo {
  /** Its name. */
  name: string;
  /** `inference` or `manage`. */
  scope: "inference" | "manage";
  /** When it was made, in UTC. */
  created: string;
}

/** All keys. */
export interface KeyList {
  /** By age. */
  keys: KeyInfo[];
}

/** A key to remove. */
export interface KeyNameBody {
  /** Its name. */
  name: string;
}

/** KV of running sequences. */
export interface KvUse {
  /** Positions. */
  n_tokens: number;
  /** Bytes. */
  n_bytes: number;
  /** Most bytes, with what is kept; `null` where there is no such limit. */
  n_budget_bytes: number | null;
}

/** Whether other machines may call. */
export type Lan = "off" | "with_key" | "open";

/** An answer that is complete. */
export interface LastAnswer {
  /** Whose. */
  model: string;
  /** For whom. */
  client: string;
  /** Milliseconds from the call to its first token. */
  ttft_ms: number;
  /** Tokens of the prompt. */
  n_prompt: number;
  /** Of these, from the cache. */
  n_cached: number;
  /** Tokens of the answer. */
  n_output: number;
  /** Tokens per second after the first. */
  tokens_per_s: number | null;
  /** When it was complete, in UTC. */
  at: string;
}

/** How short of memory the machine is, as macOS names it. */
export type Level = "normal" | "warning" | "critical";

/** What goes on. */
export interface Live {
  /** When, in UTC. */
  at: string;
  /** In one word. */
  state: State;
  /** Models in memory, or on their way. */
  models: Resident[];
  /** How fast it goes. */
  speed: Speed;
  /** The last answer that is complete. */
  last_answer: LastAnswer | null;
  /** How much there is to do. */
  queue: Queue;
  /** What kept KV saves. */
  cache: CacheUse;
  /** What drafts save. */
  drafts: DraftUse;
  /** Who holds the memory. */
  memory: Memory;
  /** Calls that run. */
  requests: RunningCall[];
  /** Downloads and imports that run. */
  transfers: Transfer[];
  /** What was done of late with models and memory, the newest last. */
  acts: Act[];
}

/** How grave a line is. */
export type LogLevel = "error" | "warn" | "info" | "debug";

/** One line. */
export interface LogLine {
  /** When, in UTC. */
  at: string;
  /** How grave. */
  level: LogLevel;
  /** Which part of the program. */
  target: string;
  /** What. */
  message: string;
}

/** Memory for models. */
export interface Machine {
  /** All memory, in bytes. */
  total_bytes: number;
  /** Free now. */
  free_bytes: number;
  /** Most that the GPU may use, where there is such a limit. */
  gpu_bytes: number | null;
  /** What models may take. */
  available_bytes: number;
  /** The same in words. */
  words: string;
}

/** Tools of others. */
export interface McpSettings {
  /** The file that lists their servers. */
  config: string | null;
  /** Tools that may be called without asking, such as `files__read` or `files__*`. */
  allow: string[];
}

/** Who holds the memory, in bytes. */
export interface Memory {
  /** All of it. */
  total_bytes: number;
  /** Other programs and the system. */
  apps_bytes: number;
  /** This program. */
  tokbar_bytes: number;
  /** Nobody. */
  free_bytes: number;
  /** Of this program: models and what they compute with. */
  model_bytes: number;
  /** Of this program: kept KV. */
  cache_bytes: number;
  /** KV of running sequences. */
  kv: KvUse;
  /** How short of memory the machine is. */
  pressure: Level;
  /** How that changed, the newest last. */
  pressure_history: PressureChange[];
}

/** One model. */
export interface Model {
  /** What every other call takes. */
  id: string;
  /** To show. */
  name: string;
  /** Other names. */
  aliases: string[];
  /** Its files. */
  disk: Disk;
  /** In memory, or on its way. */
  resident: Resident | null;
  /** Its download, if one is under way or paused. */
  transfer: Transfer | null;
  /** Whether it fits; `null` where its size is not known. */
  fit: Fit | null;
  /** The family key (`model_type`). */
  family: string | null;
  /** Such as `4-bit`. */
  quantization: string | null;
  /** Weights. */
  n_params: number | null;
  /** Bytes of the weights. */
  size_bytes: number | null;
  /** Longest context in tokens. */
  n_context: number | null;
  /** `chat`, `tools`, `thinking`, `vision`. */
  capabilities: string[];
  /** Whether this build knows the family. */
  can_run: boolean;
  /** Whether it is in the list of known models. */
  is_known: boolean;
  /** Decode that others measured, in tokens per second; the notes say on what. */
  decode_tps: number | null;
  /** What is known of its quality. */
  notes: Note[];
}

/** One model, closely. */
export interface ModelDetail {
  /** As in the list. */
  model: Model;
  /** How it writes tool calls and reasoning; `null` where its files are not here. */
  formats: Formats | null;
  /** Whether it has a chat template. */
  has_chat_template: boolean;
  /** Bytes of KV that a token costs. */
  kv_bytes_per_token: number | null;
  /** Whether it fits, from short contexts to the longest. */
  fits: Fit[];
  /** How it is to be loaded. */
  settings: ModelSettings;
}

/** How a model is to be loaded; `null` is as usual. */
export interface ModelSettings {
  /** Most tokens of a sequence. */
  n_context: number | null;
  /** Bits of an element of kept KV: 4 or 8. */
  kv_bits: 4 | 8 | null;
  /** Where drafts come from: `auto`, `off`, `ngram` or `draft`. */
  speculation: "auto" | "off" | "ngram" | "draft" | null;
  /** A model that drafts. */
  draft_model: string | null;
  /** How it writes tool calls; `none` for not at all. */
  tool_format: string | null;
  /** How it writes reasoning; `none` for not at all. */
  reasoning_format: string | null;
  /** Most sequences at once. */
  max_rows: number | null;
  /** Whether it stays once it is loaded. */
  is_pinned: boolean;
}

/** Settings of a model: those that are given change. */
export interface ModelSettingsBody {
  /** Its id. */
  model: string;
  [name: string]: unknown;
}

/** A key that was just made. */
export interface NewKey {
  /** Its name. */
  name: string;
  /** What clients send; it is told only now. */
  secret: string;
}

/** A remark with its source. */
export interface Note {
  /** What is known. */
  text: string;
  /** From where. */
  source: string;
}

/** Nothing is to be said. */
export type Nothing = Record<string, unknown>;

/** A client, and for which model. */
export interface OfClient {
  /** Its id. */
  client: string;
  /** The model that it is to use; the one that is loaded by default. */
  model?: string | null;
}

/** Which one. */
export interface OfId {
  /** Its id. */
  id: string;
}

/** A model, by its id. */
export interface OfModel {
  /** Its id, a short name, or a path. */
  model: string;
}

/** A model that stays or may go. */
export interface PinBody {
  /** Its id. */
  model: string;
  /** Whether it stays; yes by default. */
  pinned?: boolean;
}

/** A folder. */
export interface PlaceBody {
  /** The folder. */
  path: string;
}

/** A folder that models lie in. */
export interface PlaceInfo {
  /** Whose: `hugging_face`, `lm_studio`, `ollama` or `person`. */
  owner: string;
  /** The folder. */
  path: string;
  /** `present`, `absent` or `refused`. */
  state: "present" | "absent" | "refused";
  /** What the system said. */
  reason: string | null;
  /** Models in it. */
  n_models: number;
}

/** Where models lie. */
export interface Places {
  /** In the order in which they are looked into. */
  places: PlaceInfo[];
}

/** Sleep. */
export interface PowerSettings {
  /** Whether the machine is kept awake while it generates or downloads. */
  stay_awake: boolean;
}

/** A change of the memory pressure. */
export interface PressureChange {
  /** When, in UTC. */
  at: string;
  /** From then on. */
  level: Level;
}

/** How much there is to do. */
export interface Queue {
  /** Sequences that run. */
  n_running: number;
  /** Sequences that wait. */
  n_waiting: number;
}

/** What to try first. */
export interface Recommended {
  /** Id of the model with the best answers that fits. */
  smart: string | null;
  /** Id of one with good answers, fast. */
  fast: string | null;
  /** Why these. */
  why: string;
}

/** What removing a model from the disk would do. */
export interface Removal {
  /** Its id. */
  model: string;
  /** Folder or file. */
  path: string;
  /** Bytes that the disk gets back. */
  n_bytes: number;
  /** Whose place it lies in. */
  owner: string;
  /** Whether somebody must agree first. */
  asks: boolean;
  /** The question. */
  words: string;
}

/** What was removed. */
export interface Removed {
  /** Its id. */
  model: string;
  /** Folder or file. */
  path: string;
  /** Bytes that the disk got back. */
  n_bytes: number;
}

/** A model in memory, or about to be. */
export interface Resident {
  /** Its name. */
  id: string;
  /** Whether it can be used. */
  state: ResidentState;
  /** Part of its weights that is there, from 0 to 1. */
  loaded: number;
  /** Bytes of its weights and its kept state. */
  n_bytes: number;
  /** Whether it stays. */
  is_pinned: boolean;
  /** Sequences that run. */
  n_running: number;
  /** Sequences that wait. */
  n_waiting: number;
  /** Seconds since it was last used. */
  unused_s: number;
  /** Tokens that a sequence may have. */
  n_context: number | null;
  /** Such as `4-bit`. */
  quantization: string | null;
  /** Seconds since it was loaded. */
  ready_s: number | null;
}

/** Whether a model can be used. */
export type ResidentState = "loading" | "ready" | "leaving";

/** A call that runs. */
export interface RunningCall {
  /** As in the answer's `x-request-id`. */
  id: string;
  /** What it asks for, such as `Chat`. */
  kind: string;
  /** The program that calls, such as `Claude Code`. */
  client: string;
  /** The model that answers. */
  model: string;
  /** What is being done. */
  state: CallState;
  /** Sequences of it. */
  n_sequences: number;
  /** Tokens of its prompts. */
  n_prompt: number;
  /** Of these, computed so far; those from the cache count. */
  n_computed: number;
  /** Of these, from the cache. */
  n_cached: number;
  /** Tokens generated. */
  n_output: number;
  /** Part of the prompts that is computed, during prefill. */
  part: number | null;
  /** Seconds of prefill left. */
  left_s: number | null;
  /** Tokens per second, of all its sequences. */
  tokens_per_s: number | null;
  /** Seconds since it came. */
  age_s: number;
}

/** What the holder of a key may do. */
export type Scope = "inference" | "manage";

/** Who is served where. */
export interface ServerSettings {
  /** `null` is 8000, or the next that is free. */
  port: number | null;
  /** Whether other machines may call. */
  lan: Lan;
  /** Origins of web pages that may call. */
  allowed_origins: string[];
  /** Most calls of one client in a minute; 0 is no limit. */
  calls_per_minute: number;
}

/** What a person decides once. */
export interface Settings {
  /** What is started. */
  start: StartSettings;
  /** Who is served where. */
  server: ServerSettings;
  /** How models are kept. */
  models: KeepSettings;
  /** The KV cache on disk. */
  cache: CacheSettings;
  /** The program itself. */
  app: AppSettings;
  /** Sleep. */
  power: PowerSettings;
  /** Where long prompts may go. */
  cloud: CloudSettings;
  /** Tools of others. */
  mcp: McpSettings;
}

/** Settings, and what a change of them needs. */
export interface SettingsAnswer {
  /** As they are. */
  settings: Settings;
  /** Fields that count from the next start on, such as `server.port`. */
  needs_restart: string[];
  /** Where they are kept. */
  path: string;
}

/** All models. */
export interface Shelf {
  /** What there is for them. */
  machine: Machine;
  /** What to try first. */
  recommended: Recommended;
  /** Those on disk first, then the known ones. */
  models: Model[];
}

/** Text to copy. */
export interface Snippet {
  /** What it is for. */
  title: string;
  /** Such as `python` or `sh`. */
  language: string;
  /** The text. */
  text: string;
}

/** How fast it goes. */
export interface Speed {
  /** Decode of all sequences together, in tokens per second; 0 when nothing runs. */
  decode_tps: number;
  /** Prefill, in tokens per second, of late. */
  prefill_tps: number;
  /** Milliseconds between two tokens of a sequence, half of the time. */
  itl_p50_ms: number | null;
  /** The same, 95 of 100 times. */
  itl_p95_ms: number | null;
}

/** What is started. */
export interface StartSettings {
  /** The model that is loaded at the start. */
  model: string | null;
  /** Whether it is loaded as soon as the program starts. */
  on_launch: boolean;
}

/** What the server does: one value for menu and window. */
export interface State {
  /** In short. */
  kind: StateKind;
  /** The model that it is about. */
  model: string | null;
  /** Part that is loaded or computed. */
  part: number | null;
  /** Seconds of prefill left. */
  left_s: number | null;
  /** Decode, of all sequences together. */
  tokens_per_s: number | null;
  /** Sequences that run. */
  n_running: number;
  /** Sequences that wait. */
  n_waiting: number;
  /** Ready to show, in English. */
  words: string;
}

/** What the server does, in short. */
export type StateKind = "stopped" | "loading" | "prefill" | "generating" | "ready" | "leaving" | "refusing";

/** What this server is and does. */
export interface Status {
  /** Of this program. */
  version: string;
  /** Its process. */
  pid: number;
  /** Seconds since it was started. */
  uptime_s: number;
  /** Where clients find it. */
  endpoints: Endpoints;
  /** Whether clients must send a key. */
  needs_key: boolean;
  /** What it does. */
  state: State;
  /** Whether it holds less after an unclean end. */
  is_safe_mode: boolean;
  /** What that means, and how it ends. */
  safe_mode_note: string | null;
  /** How short of memory the machine is. */
  pressure: Level;
  /** What was done last with models or memory. */
  last_act: Act | null;
}

/** What there is, and what waits. */
export interface ToolCensus {
  /** Where tools come from. */
  sources: ToolSource[];
  /** Calls that wait for a word, the oldest first. */
  waiting: WaitingCall[];
}

/** Where tools come from. */
export interface ToolSource {
  /** Its name. */
  name: string;
  /** Its tools; `null` before it was first asked. */
  tools: string[] | null;
  /** What went wrong with it last. */
  trouble: string | null;
}

/** A download or an import. */
export interface Transfer {
  /** Names it. */
  id: string;
  /** What it does. */
  kind: TransferKind;
  /** The model's id. */
  model: string;
  /** How it stands. */
  state: TransferState;
  /** Bytes here, those of earlier runs included. */
  n_bytes_done: number;
  /** All bytes, once they are known. */
  n_bytes: number | null;
  /** Bytes per second lately. */
  bytes_per_s: number | null;
  /** Seconds left, steadily. */
  left_s: number | null;
  /** Why it failed, and what to do. */
  error: string | null;
  /** Where the model is, once it is there. */
  path: string | null;
  /** When it began, in UTC. */
  started: string;
}

/** What a transfer does. */
export type TransferKind = "download" | "import";

/** All transfers. */
export interface TransferList {
  /** The newest first. */
  transfers: Transfer[];
}

/** How a transfer stands. */
export type TransferState = "waiting" | "running" | "paused" | "done" | "failed" | "cancelled";

/** A model, or all. */
export interface UnloadBody {
  /** Its id; `null` is all of them. */
  model?: string | null;
}

/** Whether a model fits. */
export type Verdict = "fits" | "tight" | "too_big";

/** A call that waits for a word. */
export interface WaitingCall {
  /** Names it. */
  id: number;
  /** The tool. */
  tool: string;
  /** Its arguments. */
  arguments: unknown;
}

/** A person's word on a call. */
export type Word = "once" | "always" | "never";

/** What a call takes and gives, by its method and path. */
export interface Routes {
  "GET /control/v1/status": { query: null; body: null; answer: Status };
  "GET /control/v1/live": { query: { every_ms?: number }; body: null; answer: Live };
  "GET /control/v1/live/now": { query: null; body: null; answer: Live };
  "GET /control/v1/requests": { query: null; body: null; answer: Calls };
  "POST /control/v1/requests/cancel": { query: null; body: OfId; answer: Done };
  "GET /control/v1/models": { query: { context?: number }; body: null; answer: Shelf };
  "GET /control/v1/models/one": { query: { model: string }; body: null; answer: ModelDetail };
  "POST /control/v1/models/load": { query: null; body: OfModel; answer: Done };
  "POST /control/v1/models/unload": { query: null; body: UnloadBody; answer: Done };
  "POST /control/v1/models/pin": { query: null; body: PinBody; answer: Done };
  "GET /control/v1/models/settings": { query: { model: string }; body: null; answer: ModelSettings };
  "PATCH /control/v1/models/settings": { query: null; body: ModelSettingsBody; answer: ModelSettings };
  "GET /control/v1/models/removal": { query: { model: string }; body: null; answer: Removal };
  "POST /control/v1/models/delete": { query: null; body: DeleteBody; answer: Removed };
  "POST /control/v1/models/import": { query: null; body: ImportBody; answer: Transfer };
  "GET /control/v1/places": { query: null; body: null; answer: Places };
  "POST /control/v1/places/add": { query: null; body: PlaceBody; answer: Places };
  "POST /control/v1/places/forget": { query: null; body: PlaceBody; answer: Places };
  "GET /control/v1/search": { query: { q: string; limit?: number }; body: null; answer: Found };
  "GET /control/v1/transfers": { query: null; body: null; answer: TransferList };
  "POST /control/v1/transfers": { query: null; body: DownloadBody; answer: Transfer };
  "POST /control/v1/transfers/pause": { query: null; body: OfId; answer: Transfer };
  "POST /control/v1/transfers/resume": { query: null; body: OfId; answer: Transfer };
  "POST /control/v1/transfers/cancel": { query: null; body: OfId; answer: Transfer };
  "POST /control/v1/transfers/clear": { query: null; body: OfId; answer: Transfer };
  "GET /control/v1/settings": { query: null; body: null; answer: SettingsAnswer };
  "PATCH /control/v1/settings": { query: null; body: Record<string, Record<string, unknown>>; answer: SettingsAnswer };
  "GET /control/v1/keys": { query: null; body: null; answer: KeyList };
  "POST /control/v1/keys": { query: null; body: KeyBody; answer: NewKey };
  "POST /control/v1/keys/remove": { query: null; body: KeyNameBody; answer: KeyList };
  "GET /control/v1/cloud/key": { query: null; body: null; answer: CloudKeyInfo };
  "POST /control/v1/cloud/key": { query: null; body: CloudKeyBody; answer: CloudKeyInfo };
  "POST /control/v1/cloud/key/remove": { query: null; body: Nothing; answer: CloudKeyInfo };
  "GET /control/v1/logs": { query: { level?: LogLevel; tail?: number; follow?: boolean }; body: null; answer: LogLine };
  "GET /control/v1/clients": { query: null; body: null; answer: ClientList };
  "GET /control/v1/clients/one": { query: { client: string; model?: string }; body: null; answer: ClientPlan };
  "POST /control/v1/clients/apply": { query: null; body: ApplyBody; answer: ClientPlan };
  "POST /control/v1/clients/remove": { query: null; body: OfClient; answer: ClientPlan };
  "POST /control/v1/clients/test": { query: null; body: OfClient; answer: ClientTest };
  "GET /control/v1/conversations": { query: { q?: string; limit?: number }; body: null; answer: ConversationList };
  "GET /control/v1/conversations/{id}": { query: null; body: null; answer: Conversation };
  "PUT /control/v1/conversations/{id}": { query: null; body: Conversation; answer: Done };
  "DELETE /control/v1/conversations/{id}": { query: null; body: null; answer: Done };
  "GET /control/v1/tools": { query: null; body: null; answer: ToolCensus };
  "POST /control/v1/tools/decide": { query: null; body: Decision; answer: Done };
  "GET /control/v1/bench": { query: null; body: null; answer: BenchInfo };
  "POST /control/v1/bench/run": { query: null; body: BenchBody; answer: BenchRun };
  "POST /control/v1/bench/cancel": { query: null; body: OfId; answer: BenchRun };
  "GET /control/v1/bench/export": { query: { id: string; format?: ExportFormat }; body: null; answer: string };
  "GET /control/v1/cache": { query: null; body: null; answer: DiskCache };
  "POST /control/v1/cache/clear": { query: null; body: Nothing; answer: DiskCache };
  "GET /control/v1/doctor": { query: null; body: null; answer: Findings };
  "POST /control/v1/shutdown": { query: null; body: Nothing; answer: Done };
}
