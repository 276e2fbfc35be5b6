// The counts of late slices, kept in a ConfigMap beside the Lease: so they survive a change of leader,
// and `lockstep assist status` reads them with a kubeconfig alone. Only the leader writes it, and only
// when a count has changed.
import {
  type LateCounts,
  type LateReport,
  type LateWindow,
  noLateness,
} from "../../decide/assisting/late-slices.ts";
import { assistLabels } from "../../decide/assisting/twin-names.ts";
import type { WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import {
  isRecord,
  listAt,
  optionalInteger,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../kube/kinds/fields.ts";

export interface LateRecordPlace {
  readonly namespace: string;
  readonly name: string;
}

export interface RecordedLateness {
  /** Since when it counts. */
  readonly since: WallMs | undefined;
  /** By `namespace/name` of the twin. */
  readonly reports: ReadonlyMap<string, LateReport>;
}

/** The only key of the ConfigMap. */
const dataKey = "lateness.json";

/** A ConfigMap holds 1 MiB; a report takes up to some 2 kB, mostly much less. */
const recordedBytesMax = 900_000;

const requestDeadlineMs = 10_000;

export class LateRecord {
  readonly #client: KubeClient;
  readonly #place: LateRecordPlace;
  readonly #clock: Environment["clock"];
  #since: WallMs | undefined;
  #written = "";

  constructor(options: {
    readonly client: KubeClient;
    readonly place: LateRecordPlace;
    readonly clock: Environment["clock"];
  }) {
    this.#client = options.client;
    this.#place = options.place;
    this.#clock = options.clock;
  }

  /** Empty when there is none, or one that cannot be read. */
  async read(signal: AbortSignal): Promise<RecordedLateness> {
    const recorded = await readLateRecord(this.#client, this.#place, signal);
    this.#since = recorded.since;
    return recorded;
  }

  /** Writes nothing when nothing changed. */
  async write(reports: ReadonlyMap<string, LateReport>, signal: AbortSignal): Promise<void> {
    this.#since ??= this.#clock.wallMs();
    const text = recordText(this.#since, reports);
    if (text === this.#written) return;
    const { namespace, name } = this.#place;
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const path = pathOf(this.#place);
    try {
      const body = { data: { [dataKey]: text } };
      const contentType = "application/merge-patch+json";
      await this.#client.request({
        verb: "patch",
        method: "PATCH",
        path,
        body,
        contentType,
        ...limits,
      });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
      const metadata = { namespace, name, labels: assistLabels };
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [dataKey]: text } };
      const collection = path.slice(0, path.lastIndexOf("/"));
      await this.#client.request({
        verb: "create",
        method: "POST",
        path: collection,
        body,
        ...limits,
      });
    }
    this.#written = text;
  }
}

export async function readLateRecord(
  client: KubeClient,
  place: LateRecordPlace,
  signal: AbortSignal,
): Promise<RecordedLateness> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  try {
    const path = pathOf(place);
    const answer = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
    const text = isRecord(answer) ? optionalString(recordAt(answer, "data"), dataKey) : undefined;
    return text === undefined ? nothingRecorded : parseRecord(text);
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return nothingRecorded;
    throw error;
  }
}

const nothingRecorded: RecordedLateness = { since: undefined, reports: new Map() };

/** Where it does not fit, the twins with most late changes stay. */
function recordText(since: WallMs, reports: ReadonlyMap<string, LateReport>): string {
  const byWeight = [...reports]
    .filter(([, { leaves, joins }]) => leaves.count + joins.count > 0)
    .sort(([, a], [, b]) => lateOf(b) - lateOf(a));
  const twins: Record<string, LateReport> = {};
  let bytes = 0;
  for (const [key, report] of byWeight) {
    bytes += key.length + JSON.stringify(report).length;
    if (bytes > recordedBytesMax) break;
    twins[key] = report;
  }
  return JSON.stringify({ since, twins });
}

function lateOf({ leaves, joins }: LateReport): number {
  return leaves.late + joins.late;
}

/** A person may have edited it: a part that cannot be read counts as absent. */
function parseRecord(text: string): RecordedLateness {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return nothingRecorded;
  }
  if (!isRecord(value)) return nothingRecorded;
  const reports = new Map<string, LateReport>();
  const twins = value["twins"];
  for (const [key, report] of Object.entries(isRecord(twins) ? twins : {})) {
    if (isRecord(report)) reports.set(key, parseReport(report));
  }
  const since = value["since"];
  return { since: typeof since === "number" ? (since as WallMs) : undefined, reports };
}

function parseReport(report: RawRecord): LateReport {
  const windows = Array.isArray(report["windows"]) ? report["windows"].filter(isRecord) : [];
  return {
    leaves: parseCounts(report["leaves"]),
    joins: parseCounts(report["joins"]),
    windows: windows.map(parseWindow),
  };
}

function parseCounts(value: unknown): LateCounts {
  if (!isRecord(value)) return noLateness;
  return {
    count: optionalInteger(value, "count") ?? 0,
    late: optionalInteger(value, "late") ?? 0,
    longestMs: optionalInteger(value, "longestMs") ?? 0,
    recentMs: listAt(value, "recentMs").filter((lag) => typeof lag === "number"),
  };
}

function parseWindow(window: RawRecord): LateWindow {
  return {
    address: optionalString(window, "address") ?? "",
    from: (optionalInteger(window, "from") ?? 0) as WallMs,
    to: (optionalInteger(window, "to") ?? 0) as WallMs,
    listed: optionalInteger(window, "listed") ?? 1,
  };
}

function pathOf({ namespace, name }: LateRecordPlace): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
}
