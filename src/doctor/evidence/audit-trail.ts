// The audit log of an API server: which client writes what, from which address, and how often
// a write changed nothing. Works with every audit level; a write is known to change nothing if the log
// has the answers (the resourceVersion stays the same), or the same body is sent again.
import { createHash } from "node:crypto";
import { parseGoDuration } from "../../environment/go-duration.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { etcdSlowMs } from "./log-signs.ts";
import type { Place } from "./sign-log.ts";

export interface Writer {
  /** `system:serviceaccount:kube-system:endpoint-controller`. */
  readonly user: string;
  writes: number;
  /** Writes that changed nothing. */
  noOps: number;
  /** By resource: `endpoints`. */
  readonly resources: Map<string, number>;
  readonly addresses: Map<string, number>;
  /** Different objects that it wrote without a change. */
  readonly noOpObjects: Set<string>;
  firstMs: number;
  lastMs: number;
  readonly place: Place;
}

export interface LockWrites {
  /** `ingress-nginx/ingress-controller-leader-nginx`. */
  readonly lock: string;
  /** The address of the client, by how many renewals came from it. */
  readonly addresses: Map<string, number>;
  readonly place: Place;
}

interface Written {
  resourceVersion: string | undefined;
  bodyHash: string | undefined;
}

const writersMax = 2_000;
const objectsMax = 100_000;
const addressesMax = 50;

const writeVerbs = new Set(["create", "update", "patch"]);

/** Requests for one object. */
const singleVerbs = new Set([...writeVerbs, "get", "delete"]);

export class AuditTrail {
  readonly writers = new Map<string, Writer>();
  readonly locks = new Map<string, LockWrites>();
  /** By name: kubelets that wrote, with the addresses they wrote from. */
  readonly nodes = new Map<string, LockWrites>();
  /** Requests whose time in etcd was long; lists read many objects and may take it. */
  readonly slowInEtcd = { count: 0, longestMs: 0, place: undefined as Place | undefined };
  readonly #objects = new Map<string, Written>();
  events = 0;

  /** One event of `audit.k8s.io`, v1 or v1beta1. */
  add(event: RawRecord, place: Place): void {
    this.events += 1;
    this.#noteEtcd(event, place);
    if (event["stage"] !== "ResponseComplete" || !writeVerbs.has(textOf(event["verb"]))) return;
    const code = recordOf(event["responseStatus"])["code"];
    if (typeof code === "number" && code >= 300) return;
    const reference = recordOf(event["objectRef"]);
    const user = textOf(recordOf(event["user"])["username"]);
    const [address = ""] = Array.isArray(event["sourceIPs"])
      ? (event["sourceIPs"] as unknown[]).map(textOf)
      : [];
    const writer = this.#writer(user, event, place);
    if (writer === undefined) return;
    const [resource, namespace, name] = ["resource", "namespace", "name"].map((key) =>
      textOf(reference[key]),
    );
    const key = `${namespace ?? ""}/${name ?? ""}`;
    writer.writes += 1;
    countUp(writer.resources, resource ?? "");
    countUp(writer.addresses, address);
    if (this.#isNoOp(`${resource} ${key}`, event)) {
      writer.noOps += 1;
      if (writer.noOpObjects.size < objectsMax) writer.noOpObjects.add(`${resource} ${key}`);
    }
    if (resource === "leases" && namespace !== "kube-node-lease") {
      noteAddress(this.locks, key, address, place);
    }
    if (/leader/.test(name ?? "") && resource !== "leases") {
      noteAddress(this.locks, key, address, place);
    }
    if (user.startsWith("system:node:")) {
      noteAddress(this.nodes, user.slice("system:node:".length), address, place);
    }
  }

  /** Since 1.23 the API server annotates slow requests with the time that each part took. */
  #noteEtcd(event: RawRecord, place: Place): void {
    if (!singleVerbs.has(textOf(event["verb"]))) return;
    const annotation = textOf(recordOf(event["annotations"])["apiserver.latency.k8s.io/etcd"]);
    const ms = parseGoDuration(annotation) ?? 0;
    if (ms < etcdSlowMs) return;
    const seen = this.slowInEtcd;
    seen.count += 1;
    if (ms <= seen.longestMs) return;
    seen.longestMs = ms;
    seen.place = place;
  }

  #writer(user: string, event: RawRecord, place: Place): Writer | undefined {
    const atMs = Date.parse(
      textOf(event["stageTimestamp"]) || textOf(event["requestReceivedTimestamp"]),
    );
    const known = this.writers.get(user);
    if (known === undefined && this.writers.size >= writersMax) return undefined;
    const writer: Writer = known ?? {
      user,
      writes: 0,
      noOps: 0,
      resources: new Map(),
      addresses: new Map(),
      noOpObjects: new Set(),
      firstMs: atMs,
      lastMs: atMs,
      place,
    };
    this.writers.set(user, writer);
    writer.firstMs = Math.min(atMs, writer.firstMs);
    writer.lastMs = Math.max(atMs, writer.lastMs);
    return writer;
  }

  /** The stored version did not change, or the same body was sent before. */
  #isNoOp(key: string, event: RawRecord): boolean {
    const before = this.#objects.get(key);
    const answered = versionOf(event["responseObject"]);
    const sent = recordOf(event["requestObject"]);
    const bodyHash = Object.keys(sent).length === 0 ? undefined : hashOf(sent);
    if (before === undefined && this.#objects.size >= objectsMax) return false;
    this.#objects.set(key, { resourceVersion: answered, bodyHash });
    if (textOf(event["verb"]) === "create") return false;
    if (answered !== undefined) {
      return answered === versionOf(sent) || answered === before?.resourceVersion;
    }
    return bodyHash !== undefined && bodyHash === before?.bodyHash;
  }
}

function noteAddress(
  map: Map<string, LockWrites>,
  lock: string,
  address: string,
  place: Place,
): void {
  const known = map.get(lock);
  if (known === undefined && map.size >= writersMax) return;
  const own = known ?? { lock, addresses: new Map<string, number>(), place };
  map.set(lock, own);
  countUp(own.addresses, address);
}

function countUp(map: Map<string, number>, key: string): void {
  const before = map.get(key);
  if (before === undefined && map.size >= addressesMax) return;
  map.set(key, (before ?? 0) + 1);
}

/** Without the version, which a client that changed nothing may have read again. */
function hashOf(body: RawRecord): string {
  const {
    resourceVersion: _version,
    managedFields: _fields,
    ...metadata
  } = recordOf(body["metadata"]);
  return createHash("sha1")
    .update(JSON.stringify({ ...body, metadata }))
    .digest("base64");
}

function versionOf(object: unknown): string | undefined {
  const version = recordOf(recordOf(object)["metadata"])["resourceVersion"];
  return typeof version === "string" && version !== "" ? version : undefined;
}

function recordOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
