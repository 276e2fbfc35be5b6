// Every version of a leader lock that a watch reported: its holder, and the times of its renewals.
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { recordAt } from "../../../kube/kinds/fields.ts";
import type { Kind, ObjectMeta } from "../../../kube/kinds/kind.ts";
import { objectRecord, projectMetadata } from "../../../kube/kinds/metadata.ts";
import {
  type LeaderRecord,
  type LockReference,
  readLeaderRecord,
} from "../../../kube/leader/lease-record.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";

interface LockObject {
  readonly metadata: ObjectMeta;
  readonly record: LeaderRecord | undefined;
}

export interface LockWatchOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly lock: LockReference;
  readonly now: () => number;
}

export interface SeenRecord {
  readonly atMs: number;
  readonly record: LeaderRecord;
}

export class LockWatch {
  readonly #seen: SeenRecord[] = [];
  readonly #watch: Reflector<LockObject>;

  constructor(options: LockWatchOptions) {
    const { lock, now } = options;
    this.#watch = new Reflector({
      ...options,
      checks: noChecks,
      kind: lockKind(lock.kind),
      namespace: lock.namespace,
      fieldSelector: `metadata.name=${lock.name}`,
      indexes: {},
      handlers: [
        ({ type, object: { record } }) => {
          if (type !== "deleted" && record !== undefined) this.#seen.push({ atMs: now(), record });
        },
      ],
    });
  }

  start(): void {
    this.#watch.start();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  /** As it was last seen. */
  get record(): LeaderRecord | undefined {
    return this.#seen.at(-1)?.record;
  }

  /** One holder's records between two moments. */
  of(holder: string, fromMs: number, toMs = Number.POSITIVE_INFINITY): readonly SeenRecord[] {
    return this.#seen.filter(
      ({ atMs, record }) => record.holder === holder && atMs >= fromMs && atMs <= toMs,
    );
  }

  /** When the lock first had another holder after a moment. */
  leftBy(holder: string, fromMs: number): number | undefined {
    return this.#seen.find(({ atMs, record }) => atMs >= fromMs && record.holder !== holder)?.atMs;
  }
}

function lockKind(kind: "Lease" | "ConfigMap" | "Endpoints"): Kind<LockObject> {
  const scope = { namespaced: true };
  return {
    ...places[kind],
    kind,
    ...scope,
    project: (raw) => {
      const object = objectRecord(raw);
      return {
        metadata: projectMetadata(object, scope, undefined),
        record: readLeaderRecord({ ...object, kind, spec: recordAt(object, "spec") }),
      };
    },
  };
}

const places = {
  Lease: { group: "coordination.k8s.io", version: "v1", resource: "leases" },
  ConfigMap: { group: "", version: "v1", resource: "configmaps" },
  Endpoints: { group: "", version: "v1", resource: "endpoints" },
} as const;
