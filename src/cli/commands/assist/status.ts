// Runs `lockstep assist status`: twins, the Lease, the counts that the leader saved, the objects that
// name a twin, and with an access log the requests that a removed pod would have received.
import { resolve as absolute } from "node:path";
import { accessLogEntries } from "../../../access-log/access-log-entries.ts";
import { AccessLogParser } from "../../../access-log/access-log-parser.ts";
import {
  AccessLogFileError,
  fileChunks,
  plainChunks,
  type ReadProblem,
} from "../../../access-log/file-chunks.ts";
import {
  type LateCounts,
  type LateReport,
  type LateWindow,
  nothingLate,
} from "../../../decide/assisting/late-slices.ts";
import { readyIn } from "../../../decide/assisting/plan-twin.ts";
import {
  isHandedBack,
  isTwinSlice,
  leaseOf,
  originalOf,
} from "../../../decide/assisting/twin-names.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { objectKey, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { readLock } from "../../../kube/leader/lease-lock.ts";
import { readLateRecord } from "../../../outputs/twins/late-record.ts";
import { findServiceUsers } from "../../../sources/service-users.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { assistCluster, clientOf } from "./cluster.ts";
import type { StatusFlags } from "./command.ts";
import { isTwinObject, listTwins, readTwin, type TwinObjects } from "./twin-objects.ts";
import { statusText } from "./view.ts";

export interface AssistStatus {
  readonly leases: readonly LeaseStatus[];
  readonly twins: readonly TwinStatus[];
  /** Resources that were not searched for uses of twins, each with the reason. */
  readonly unread: readonly string[];
}

export interface LeaseStatus {
  /** `namespace/name`. */
  readonly lease: string;
  readonly holder: string | null;
  /** By this machine's clock and the holder's. */
  readonly renewedAgoMs: number | null;
  readonly isLive: boolean;
}

export interface TwinStatus {
  readonly twin: string;
  readonly service: string;
  readonly state: "kept" | "frozen" | "handing back" | "handed back";
  /** Ready ones, by the twin's slices and by the Service's own. */
  readonly endpoints: number;
  readonly published: number;
  /** `Ingress shop/web`; null when not every resource could be searched and none was found. */
  readonly usedBy: readonly string[] | null;
  readonly leaves: LateCounts;
  readonly joins: LateCounts;
  /** Null without an access log. */
  readonly requests: SavedRequests | null;
}

export interface SavedRequests {
  /** Rounded; see `savedRequests`. */
  readonly count: number;
  /** Late removals outside the time of the log. */
  readonly windowsOutside: number;
}

const requestDeadlineMs = 10_000;

export async function runStatus(context: CommandContext, flags: StatusFlags): Promise<ExitCode> {
  const { environment, terminal } = context;
  const client = clientOf(environment, await assistCluster(environment, flags));
  const status = await readStatus(context, client, flags);
  terminal.write(flags.json ? `${JSON.stringify(status)}\n` : statusText(status));
  return status.twins.some(({ state }) => state === "frozen") ? 1 : 0;
}

async function readStatus(
  context: CommandContext,
  client: KubeClient,
  flags: StatusFlags,
): Promise<AssistStatus> {
  const { environment, stop: signal } = context;
  const listed = await listTwins(client, flags.namespace, signal);
  const leases: LeaseStatus[] = [];
  const reports = new Map<string, LateReport>();
  for (const lease of new Set(listed.flatMap((twin) => leaseOf(twin) ?? []))) {
    leases.push(await leaseStatus(environment, client, lease, signal));
    const recorded = await readLateRecord(client, splitObjectKey(lease), signal);
    for (const [key, report] of recorded.reports) reports.set(key, report);
  }
  const places = listed.map(({ metadata }) => metadata);
  const { users, unread } =
    places.length === 0
      ? { users: new Map(), unread: [] }
      : await findServiceUsers(client, places, { signal, isIgnored: isTwinObject });
  const objects: TwinObjects[] = [];
  for (const place of places) {
    const read = await readTwin(client, place, signal);
    if (read !== undefined) objects.push(read);
  }
  const tried = await triedIn(context, flags, objects, reports);
  const live = new Set(leases.filter(({ isLive }) => isLive).map(({ lease }) => lease));
  const twins = objects.map((one): TwinStatus => {
    const key = objectKey(one.twin.metadata);
    const report = reports.get(key) ?? nothingLate;
    const names = (users.get(key) ?? []).map(
      ({ kind, namespace, name }: { kind: string; namespace: string; name: string }) =>
        `${kind} ${namespace}/${name}`,
    );
    return {
      twin: key,
      service: originalOf(one.twin) ?? "",
      state: stateOf(one, live),
      endpoints: readyIn(one.slices).size,
      published: readyIn(one.published).size,
      usedBy: names.length === 0 && unread.length > 0 ? null : names,
      leaves: report.leaves,
      joins: report.joins,
      requests: tried && savedRequests(report.windows, tried, addressesOf(one, report)),
    };
  });
  return { leases, twins, unread };
}

function stateOf({ twin, slices }: TwinObjects, live: ReadonlySet<string>): TwinStatus["state"] {
  if (isHandedBack(twin) || twin.selector !== undefined) {
    return slices.some(isTwinSlice) ? "handing back" : "handed back";
  }
  return live.has(leaseOf(twin) ?? "") ? "kept" : "frozen";
}

async function leaseStatus(
  { clock }: Pick<Environment, "clock">,
  client: KubeClient,
  lease: string,
  signal: AbortSignal,
): Promise<LeaseStatus> {
  const lock = { kind: "Lease", ...splitObjectKey(lease) } as const;
  const read = await readLock(client, lock, { deadlineMs: requestDeadlineMs, signal });
  const record = read?.record;
  if (record === undefined || record.holder === "") {
    return { lease, holder: null, renewedAgoMs: null, isLive: false };
  }
  const renewedAt = Date.parse(record.renewTime ?? "");
  const renewedAgoMs = Number.isNaN(renewedAt) ? null : Math.max(0, clock.wallMs() - renewedAt);
  const isLive = renewedAgoMs !== null && renewedAgoMs < record.leaseDurationMs;
  return { lease, holder: record.holder, renewedAgoMs, isLive };
}

/** One try of one request. */
interface Tried {
  readonly address: string;
  readonly atMs: number;
}

interface TriedRequests {
  readonly tries: readonly Tried[];
  readonly fromMs: number;
  readonly toMs: number;
}

/** Requests in the log that reached a pod of a twin; undefined without a log. */
async function triedIn(
  context: CommandContext,
  { accessLog, logFormat }: StatusFlags,
  objects: readonly TwinObjects[],
  reports: ReadonlyMap<string, LateReport>,
): Promise<TriedRequests | null> {
  if (accessLog === undefined) return null;
  const wanted = new Set(
    objects.flatMap((one) => [
      ...addressesOf(one, reports.get(objectKey(one.twin.metadata)) ?? nothingLate),
    ]),
  );
  const chunks = chunksOf(context, accessLog);
  const parser = new AccessLogParser({ format: logFormat });
  const tries: Tried[] = [];
  let fromMs = Number.POSITIVE_INFINITY;
  let toMs = Number.NEGATIVE_INFINITY;
  await asUsage([AccessLogFileError], async () => {
    for await (const entry of accessLogEntries(chunks, parser)) {
      context.stop.throwIfAborted();
      const atMs = entry.endedMs - (entry.durationMs ?? 0);
      fromMs = Math.min(fromMs, atMs);
      toMs = Math.max(toMs, entry.endedMs);
      // Each request once: a second try is the proxy's answer to the first.
      const address = entry.tries[0]?.address;
      if (address !== undefined && wanted.has(address)) tries.push({ address, atMs });
    }
  });
  return { tries, fromMs, toMs };
}

/** Of a log that breaks off, as in a copy that was not finished, what came before counts. */
function chunksOf(
  { environment, stdin, terminal }: CommandContext,
  file: string,
): AsyncIterable<Uint8Array> {
  const onBrokenOff = ({ text }: ReadProblem) => terminal.writeError(`${text}\n`);
  if (file !== "-") return fileChunks(environment.files, absolute(file), onBrokenOff);
  if (stdin !== undefined) return plainChunks(stdin(), file, onBrokenOff);
  throw new UsageError("no data on standard input: give the file of the access log instead of -");
}

/** Of the Service, as far as is known: its endpoints now, and those that were removed late. */
function addressesOf({ slices, published }: TwinObjects, { windows }: LateReport) {
  return new Set([
    ...readyIn(slices),
    ...readyIn(published),
    ...windows.map(({ address }) => address),
  ]);
}

/**
 * While the Service's own slices listed a removed pod among `listed` endpoints, a proxy that follows
 * them sends it that share of the requests.
 */
export function savedRequests(
  windows: readonly LateWindow[],
  { tries, fromMs, toMs }: TriedRequests,
  addresses: ReadonlySet<string>,
): SavedRequests {
  let count = 0;
  let windowsOutside = 0;
  const own = tries.filter(({ address }) => addresses.has(address));
  for (const { from, to, listed } of windows) {
    if (from < fromMs || to > toMs) {
      windowsOutside += 1;
      continue;
    }
    const during = own.filter(({ atMs }) => atMs >= from && atMs < to).length;
    count += during / Math.max(1, listed);
  }
  return { count: Math.round(count), windowsOutside };
}
