// Fixtures for tests of verdicts: objects of a cluster, and a history of when each was seen, in
// seconds since the start.
import type { AccessLogEntry, LoggedTry } from "../../src/access-log/access-log-entry.ts";
import { Evidence, type EvidenceOptions } from "../../src/blame/evidence.ts";
import { judgeRequest } from "../../src/blame/judge-request.ts";
import { verdictSentences } from "../../src/blame/verdict-text.ts";
import type { WallMs } from "../../src/environment/clock.ts";
import type { RawRecord } from "../../src/kube/kinds/fields.ts";
import type { RecordedKindName } from "../../src/recording/recorded-kinds.ts";

export const startMs = Date.parse("2026-01-01T12:00:00Z");

/** Milliseconds of that second. */
export function at(seconds: number): number {
  return startMs + seconds * 1_000;
}

/** As Kubernetes writes it: whole seconds. */
export function time(seconds: number): string {
  return `${new Date(at(Math.floor(seconds))).toISOString().slice(0, 19)}Z`;
}

export interface PodOptions {
  readonly name?: string;
  readonly uid?: string;
  readonly ip?: string;
  readonly node?: string;
  readonly created?: number;
  /** Since when; false with `unreadySince`. */
  readonly readySince?: number;
  readonly unreadySince?: number;
  /** Its containers are ready, whatever its condition says. */
  readonly areContainersReady?: boolean;
  /** When its deletion was asked for, with 30 s of grace. */
  readonly deleted?: number;
  readonly endedAt?: number;
  readonly restartedAt?: number;
  readonly hostNetwork?: boolean;
  readonly port?: number;
  /** Why its container ended. */
  readonly endedBy?: string;
  readonly probe?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

export function pod(options: PodOptions = {}): RawRecord {
  const { name = "web-1", created = 0, deleted, endedAt, restartedAt, unreadySince } = options;
  const changed = unreadySince ?? options.readySince;
  const ended =
    endedAt === undefined
      ? {}
      : { terminated: { finishedAt: time(endedAt), reason: options.endedBy } };
  const running = { running: { startedAt: time(restartedAt ?? created) } };
  return {
    metadata: {
      namespace: "shop",
      name,
      uid: options.uid ?? `uid-${name}`,
      creationTimestamp: time(created),
      labels: options.labels ?? { app: "web" },
      ...(deleted !== undefined && {
        deletionTimestamp: time(deleted + 30),
        deletionGracePeriodSeconds: 30,
      }),
    },
    spec: {
      nodeName: options.node ?? "node-1",
      ...(options.hostNetwork && { hostNetwork: true }),
      containers: [
        {
          name: "web",
          ...(options.probe !== false && { readinessProbe: {} }),
          ...(options.port !== undefined && { ports: [{ containerPort: options.port }] }),
        },
      ],
    },
    status: {
      phase: "Running",
      podIP: options.ip ?? "10.0.0.1",
      conditions:
        changed === undefined
          ? []
          : [
              {
                type: "Ready",
                status: unreadySince === undefined ? "True" : "False",
                lastTransitionTime: time(changed),
              },
            ],
      containerStatuses: [
        {
          name: "web",
          ...(options.areContainersReady && { ready: true }),
          state: restartedAt === undefined && endedAt !== undefined ? ended : running,
          lastState: restartedAt === undefined ? {} : ended,
        },
      ],
    },
  };
}

export interface ListedPod {
  readonly ip: string;
  readonly uid?: string;
  readonly name?: string;
}

export function slice(listed: readonly ListedPod[], name = "web-abc"): RawRecord {
  return {
    metadata: {
      namespace: "shop",
      name,
      uid: `uid-${name}`,
      labels: { "kubernetes.io/service-name": "web" },
    },
    endpoints: listed.map(({ ip, uid, name: podName }) => ({
      addresses: [ip],
      conditions: { ready: true },
      ...(uid !== undefined && { targetRef: { kind: "Pod", name: podName ?? uid, uid } }),
    })),
    ports: [{ port: 8080 }],
  };
}

export function service(): RawRecord {
  const metadata = { namespace: "shop", name: "web", uid: "uid-service" };
  return { metadata, spec: { selector: { app: "web" } } };
}

export function node(
  status: "True" | "False" | "Unknown",
  changed: number,
  heartbeat: number,
): RawRecord {
  const times = { lastTransitionTime: time(changed), lastHeartbeatTime: time(heartbeat) };
  return {
    metadata: { name: "node-1", uid: "uid-node-1" },
    status: { conditions: [{ type: "Ready", status, ...times }] },
  };
}

/** Evidence of one or more clusters, as watches report it. */
export class ObservedClusters {
  readonly evidence: Evidence;

  constructor(options: EvidenceOptions & { readonly untilSeconds?: number } = {}) {
    this.evidence = new Evidence(options);
    this.evidence.cover({ cluster: "prod", namespace: undefined }, startMs).toMs = at(
      options.untilSeconds ?? 3_600,
    );
  }

  saw(seconds: number, kind: RecordedKindName, object: RawRecord, cluster = "prod"): this {
    return this.#add(seconds, kind, object, cluster, false);
  }

  gone(seconds: number, kind: RecordedKindName, object: RawRecord, cluster = "prod"): this {
    return this.#add(seconds, kind, object, cluster, true);
  }

  #add(
    seconds: number,
    kind: RecordedKindName,
    object: RawRecord,
    cluster: string,
    isDeleted: boolean,
  ): this {
    const seen = { atMs: at(seconds), isWatched: true, afterMs: undefined };
    this.evidence.add({ cluster, kind, isDeleted, object, seen });
    return this;
  }
}

/** A request that was over then, tried where given; to the millisecond unless said otherwise. */
export function request(
  overSeconds: number,
  tries: readonly Partial<LoggedTry>[],
  options: Partial<AccessLogEntry> = {},
): AccessLogEntry {
  // The log's own clock, which is what WallMs means for an instant that came from outside.
  const endedMs = at(overSeconds) as WallMs;
  return {
    line: 1,
    endedMs,
    resolutionMs: 1,
    durationMs: tries.reduce((sum, { durationMs = 1 }) => sum + durationMs, 0),
    status: 502,
    method: "GET",
    host: "shop.example",
    target: "/",
    service: "shop/web",
    tries: tries.map((one) => ({
      address: "10.0.0.1",
      port: 8080,
      status: 502,
      durationMs: 1,
      answered: false,
      ...one,
    })),
    ...options,
  };
}

/** The verdict in a few words. */
export function judged(
  observed: ObservedClusters,
  entry: AccessLogEntry,
  skewMs = 0,
): readonly string[] {
  const verdict = judgeRequest(entry, { evidence: observed.evidence, skewMs, file: "a.log" });
  return [`${verdict.confidence}: ${verdict.cause}`, ...verdictSentences(verdict)];
}

/** Its first words: how sure it is, and of what. */
export function verdictOn(
  observed: ObservedClusters,
  entry: AccessLogEntry,
  skewMs = 0,
): string | undefined {
  return judged(observed, entry, skewMs)[0];
}

export const web1 = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };

/** Ready from 10 s on; no endpoint list is known. */
export function readyPod(): ObservedClusters {
  return new ObservedClusters().saw(10, "Pod", pod({ readySince: 10 }));
}

/** Ready from 10 s on, and listed. */
export function listedPod(): ObservedClusters {
  return readyPod().saw(10.2, "EndpointSlice", slice([web1]));
}

/** Ready from 10 s on, deleted at 100 s, dead at 101 s, gone at 102 s; listed until 130 s. */
export function released(): ObservedClusters {
  return new ObservedClusters()
    .saw(1, "Service", service())
    .saw(2, "Pod", pod())
    .saw(10, "Pod", pod({ readySince: 10 }))
    .saw(10.2, "EndpointSlice", slice([web1]))
    .saw(100.2, "Pod", pod({ readySince: 10, deleted: 100 }))
    .saw(101.5, "Pod", pod({ deleted: 100, unreadySince: 101, endedAt: 101 }))
    .gone(102, "Pod", pod({ deleted: 100, unreadySince: 101, endedAt: 101 }))
    .saw(130, "EndpointSlice", slice([]));
}
