// What objects show, of any number of them: only the facts that causes need are kept. Objects come
// from `kubectl get -o yaml|json`, from dumps, and in pieces from text that people paste; a field that
// is not there is unknown, not absent.
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { Place } from "./sign-log.ts";

export interface LeaderRecord {
  /** `ingress-nginx/ingress-controller-leader-nginx`. */
  readonly lock: string;
  readonly namespace: string;
  readonly holder: string;
  readonly renewTime: string | undefined;
  readonly place: Place;
}

export interface ServiceFacts {
  readonly key: string;
  readonly isHeadless: boolean;
  readonly hasSelector: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly place: Place;
}

export interface EndpointsFacts {
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly overCapacity: string | undefined;
  readonly notReady: number;
  readonly ready: number;
  readonly place: Place;
}

export interface PodFacts {
  readonly key: string;
  readonly ready: boolean | undefined;
  /** All containers of its status are ready. */
  readonly containersReady: boolean | undefined;
  readonly isTerminating: boolean;
  readonly place: Place;
}

export interface NodeFacts {
  readonly name: string;
  /** Of the Ready condition: `True`, `False`, `Unknown`. */
  readonly ready: string | undefined;
  readonly reason: string | undefined;
  readonly place: Place;
}

export interface IngressFacts {
  readonly key: string;
  /** Undefined when the object has no status at all. */
  readonly addresses: number | undefined;
  readonly place: Place;
}

/** A large cluster has some 100,000 objects of a kind; more are counted, not kept. */
const objectsMax = 200_000;

const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

export class ObjectFacts {
  readonly leaders: LeaderRecord[] = [];
  readonly services = new Map<string, ServiceFacts>();
  readonly endpoints = new Map<string, EndpointsFacts>();
  readonly pods = new Map<string, PodFacts>();
  readonly nodes = new Map<string, NodeFacts>();
  readonly ingresses = new Map<string, IngressFacts>();
  /** Namespaces of which a list of pods was given, so that an absent pod does not exist. */
  readonly listedPods = new Map<string, Place>();
  /** Names of running containers on a machine, by `namespace/pod`: from `docker ps`. */
  readonly runningContainers = new Map<string, Place>();
  /** Rows of `kubectl get` of a kind, where no object was given. */
  readonly rowCounts = new Map<string, number>();

  /** Lists are taken apart; what is no object is passed over. */
  add(value: unknown, place: Place): void {
    if (!isRecord(value)) return;
    const { kind, items } = value;
    if (Array.isArray(items)) {
      const itemKind = typeof kind === "string" ? kind.replace(/List$/, "") : "";
      for (const item of items) {
        if (isRecord(item)) this.add({ kind: itemKind, ...item }, place);
      }
      if (itemKind === "Pod") this.#listPods(items, place);
      return;
    }
    if (typeof kind === "string") this.#addObject(kind, value, place);
  }

  /** A row of a table or a key of etcd: the object exists, and nothing else is known of it. */
  addExisting(kind: "pod", namespace: string, name: string, place: Place): void {
    this.listedPods.set(namespace, place);
    const key = `${namespace}/${name}`;
    if (kind === "pod" && !this.pods.has(key) && this.pods.size < objectsMax) {
      const unknown = { ready: undefined, containersReady: undefined, isTerminating: false };
      this.pods.set(key, { key, ...unknown, place });
    }
  }

  #listPods(items: readonly unknown[], place: Place): void {
    for (const item of items) {
      const namespace = isRecord(item) ? textIn(item, "metadata", "namespace") : undefined;
      if (namespace !== undefined) this.listedPods.set(namespace, place);
    }
  }

  #addObject(kind: string, object: RawRecord, place: Place): void {
    const namespace = textIn(object, "metadata", "namespace") ?? "";
    const name = textIn(object, "metadata", "name") ?? "";
    const key = `${namespace}/${name}`;
    const labels = textsIn(object, "metadata", "labels");
    const annotations = textsIn(object, "metadata", "annotations");
    this.#addLeader(kind, object, { key, namespace, place, record: annotations[leaderAnnotation] });
    switch (kind) {
      case "Service": {
        const clusterIP = textIn(object, "spec", "clusterIP");
        const hasSelector = Object.keys(textsIn(object, "spec", "selector")).length > 0;
        keep(this.services, key, {
          key,
          isHeadless: clusterIP === "None",
          hasSelector,
          labels,
          place,
        });
        return;
      }
      case "Endpoints": {
        const subsets = arrayIn(object, "subsets").filter(isRecord);
        const count = (field: string) =>
          subsets.reduce((sum, subset) => sum + arrayIn(subset, field).length, 0);
        const overCapacity = annotations[overCapacityAnnotation];
        const addresses = { ready: count("addresses"), notReady: count("notReadyAddresses") };
        keep(this.endpoints, key, { key, labels, overCapacity, ...addresses, place });
        return;
      }
      case "Pod": {
        const containers = arrayIn(object, "status", "containerStatuses").filter(isRecord);
        keep(this.pods, key, {
          key,
          ready: readyIn(object) === undefined ? undefined : readyIn(object)?.status === "True",
          containersReady:
            containers.length === 0 ? undefined : containers.every(({ ready }) => ready === true),
          isTerminating: textIn(object, "metadata", "deletionTimestamp") !== undefined,
          place,
        });
        return;
      }
      case "Node": {
        const ready = readyIn(object);
        keep(this.nodes, name, { name, ready: ready?.status, reason: ready?.reason, place });
        return;
      }
      case "Ingress": {
        const status = isRecord(object["status"]) ? object["status"] : undefined;
        const addresses =
          status === undefined ? undefined : arrayIn(status, "loadBalancer", "ingress").length;
        keep(this.ingresses, key, { key, addresses, place });
        return;
      }
      default:
    }
  }

  #addLeader(
    kind: string,
    object: RawRecord,
    found: { key: string; namespace: string; place: Place; record: string | undefined },
  ): void {
    const { key, namespace, place } = found;
    const record = kind === "Lease" ? object["spec"] : parsed(found.record);
    if (!isRecord(record)) return;
    const holder = textIn(record, "holderIdentity");
    if (holder === undefined || holder === "") return;
    // Leases of kubelets and API servers are heartbeats, not locks.
    if (namespace === "kube-node-lease" || holder.startsWith("kube-apiserver-")) return;
    const renewTime = textIn(record, "renewTime");
    this.leaders.push({ lock: key, namespace, holder, renewTime, place });
  }
}

interface Ready {
  readonly status: string;
  readonly reason: string | undefined;
}

function readyIn(object: RawRecord): Ready | undefined {
  for (const condition of arrayIn(object, "status", "conditions")) {
    if (isRecord(condition) && condition["type"] === "Ready") {
      return { status: String(condition["status"]), reason: textIn(condition, "reason") };
    }
  }
  return undefined;
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size < objectsMax || map.has(key)) map.set(key, value);
}

function valueIn(object: RawRecord, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), object);
}

function textIn(object: RawRecord, ...path: string[]): string | undefined {
  const value = valueIn(object, path);
  return typeof value === "string" ? value : undefined;
}

function arrayIn(object: RawRecord, ...path: string[]): readonly unknown[] {
  const value = valueIn(object, path);
  return Array.isArray(value) ? value : [];
}

function textsIn(object: RawRecord, ...path: string[]): Readonly<Record<string, string>> {
  const value = valueIn(object, path);
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, text]) =>
      typeof text === "string" || typeof text === "number" || typeof text === "boolean"
        ? [[key, String(text)]]
        : [],
    ),
  );
}
