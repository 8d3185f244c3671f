// The control API as methods: names, paths and shapes of one place.

import type {
  BenchInfo,
  BenchRun,
  ClientInfo,
  ClientPlan,
  ClientTest,
  CloudKeyInfo,
  Conversation,
  ConversationList,
  DiskCache,
  Done,
  Finding,
  Hit,
  KeyInfo,
  Live,
  LogLine,
  ModelDetail,
  ModelSettings,
  PlaceInfo,
  Removal,
  Removed,
  SettingsAnswer,
  Shelf,
  Status,
  ToolCensus,
  Transfer,
  Word,
} from "../lib/control";
import type { Client } from "./client";
import type { ServerEvent } from "./sse";

const V1 = "/control/v1";

export type TransferDeed = "pause" | "resume" | "cancel" | "clear";

async function* lines(events: AsyncIterable<ServerEvent>): AsyncGenerator<LogLine> {
  for await (const { event, data } of events) if (event === "line") yield JSON.parse(data) as LogLine;
}

export class Control {
  constructor(readonly client: Client) {}

  status = () => this.client.get<Status>(`${V1}/status`);

  async *live(everyMs: number, signal: AbortSignal): AsyncGenerator<Live> {
    for await (const { event, data } of await this.client.open(`${V1}/live`, { every_ms: everyMs }, { signal })) {
      if (event === "frame") yield JSON.parse(data) as Live;
    }
  }

  /** Once the server answers. */
  async logs(level: LogLine["level"], tail: number, signal: AbortSignal): Promise<AsyncGenerator<LogLine>> {
    return lines(await this.client.open(`${V1}/logs`, { level, tail, follow: true }, { signal }));
  }

  cancelRequest = (id: string) => this.client.post<Done>(`${V1}/requests/cancel`, { id });

  shelf = (context?: number) => this.client.get<Shelf>(`${V1}/models`, { context });
  model = (model: string) => this.client.get<ModelDetail>(`${V1}/models/one`, { model });
  load = (model: string) => this.client.post<Done>(`${V1}/models/load`, { model });
  unload = (model: string | null) => this.client.post<Done>(`${V1}/models/unload`, { model });
  pin = (model: string, pinned: boolean) => this.client.post<Done>(`${V1}/models/pin`, { model, pinned });
  modelSettings = (model: string) => this.client.get<ModelSettings>(`${V1}/models/settings`, { model });
  setModel = (model: string, change: Partial<ModelSettings>) =>
    this.client.patch<ModelSettings>(`${V1}/models/settings`, { model, ...change });
  removal = (model: string) => this.client.get<Removal>(`${V1}/models/removal`, { model });
  delete = (model: string, consent: boolean) => this.client.post<Removed>(`${V1}/models/delete`, { model, consent });
  importFile = (path: string, quantize: number | null) =>
    this.client.post<Transfer>(`${V1}/models/import`, { path, quantize });

  places = () => this.client.get<{ places: PlaceInfo[] }>(`${V1}/places`);
  addPlace = (path: string) => this.client.post<{ places: PlaceInfo[] }>(`${V1}/places/add`, { path });
  forgetPlace = (path: string) => this.client.post<{ places: PlaceInfo[] }>(`${V1}/places/forget`, { path });
  search = (q: string, signal?: AbortSignal) =>
    this.client.get<{ hits: Hit[]; is_offline: boolean }>(`${V1}/search`, { q, limit: 20 }, { signal });

  transfers = () => this.client.get<{ transfers: Transfer[] }>(`${V1}/transfers`);
  download = (model: string) => this.client.post<Transfer>(`${V1}/transfers`, { model, revision: null });
  transfer = (id: string, deed: TransferDeed) => this.client.post<Transfer>(`${V1}/transfers/${deed}`, { id });

  settings = () => this.client.get<SettingsAnswer>(`${V1}/settings`);
  set = (change: unknown) => this.client.patch<SettingsAnswer>(`${V1}/settings`, change);
  keys = () => this.client.get<{ keys: KeyInfo[] }>(`${V1}/keys`);
  addKey = (name: string, scope: "inference" | "manage") =>
    this.client.post<{ name: string; secret: string }>(`${V1}/keys`, { name, scope });
  removeKey = (name: string) => this.client.post<{ keys: KeyInfo[] }>(`${V1}/keys/remove`, { name });

  cloudKey = () => this.client.get<CloudKeyInfo>(`${V1}/cloud/key`);
  keepCloudKey = (key: string) => this.client.post<CloudKeyInfo>(`${V1}/cloud/key`, { key });
  forgetCloudKey = () => this.client.post<CloudKeyInfo>(`${V1}/cloud/key/remove`, {});

  tools = () => this.client.get<ToolCensus>(`${V1}/tools`);
  decide = (id: number, word: Word) => this.client.post<Done>(`${V1}/tools/decide`, { id, word });

  conversations = (q: string) => this.client.get<ConversationList>(`${V1}/conversations`, { q });
  conversation = (id: string) => this.client.get<Conversation>(`${V1}/conversations/${id}`);
  keep = (one: Conversation) => this.client.put<Done>(`${V1}/conversations/${one.id}`, one);
  forget = (id: string) => this.client.delete<Done>(`${V1}/conversations/${id}`);

  clients = () => this.client.get<{ clients: ClientInfo[] }>(`${V1}/clients`);
  clientPlan = (client: string, model: string | null) =>
    this.client.get<ClientPlan>(`${V1}/clients/one`, { client, model });
  connect = (client: string, model: string | null) => this.client.post<ClientPlan>(`${V1}/clients/apply`, { client, model });
  disconnect = (client: string) => this.client.post<ClientPlan>(`${V1}/clients/remove`, { client, model: null });
  testClient = (client: string, model: string | null) =>
    this.client.post<ClientTest>(`${V1}/clients/test`, { client, model });

  bench = () => this.client.get<BenchInfo>(`${V1}/bench`);
  runBench = (suite: string, model: string | null) => this.client.post<BenchRun>(`${V1}/bench/run`, { suite, model });
  cancelBench = (id: string) => this.client.post<BenchRun>(`${V1}/bench/cancel`, { id });
  exportBench = (id: string, format: "json" | "csv") => this.client.text(`${V1}/bench/export`, { id, format });

  diskCache = () => this.client.get<DiskCache>(`${V1}/cache`);
  clearDiskCache = () => this.client.post<DiskCache>(`${V1}/cache/clear`, {});
  doctor = () => this.client.get<{ findings: Finding[] }>(`${V1}/doctor`);
}
