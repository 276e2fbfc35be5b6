// Facts from any number of objects: only those that causes need are kept. Objects come
// from `kubectl get -o yaml|json`, from dumps, and in pieces from text that people paste; a field that
// is not there is unknown, not absent.
import { isIp } from "../../environment/ip-address.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { ApiServers, apiServerKind } from "./api-servers.ts";
import { AuditTrail } from "./audit-trail.ts";
import { Grants } from "./grants.ts";
import { Observations, observationKind } from "./observations.ts";
import type { Place } from "./sign-log.ts";

export type Labels = Readonly<Record<string, string>>;

export interface LeaderRecord {
  /** `ingress-nginx/ingress-controller-leader-nginx`. */
  readonly lock: string;
  readonly namespace: string;
  readonly holder: string;
  readonly renewTime: string | undefined;
  readonly durationSeconds: number | undefined;
  readonly place: Place;
}

export interface ServiceFacts {
  readonly key: string;
  readonly isHeadless: boolean;
  readonly selector: Labels;
  /** Target ports that are names. */
  readonly portNames: readonly string[];
  /** Target ports that are numbers. */
  readonly portNumbers: readonly number[];
  readonly labels: Labels;
  readonly place: Place;
}

/** Labels that pods have: of a pod, or of the template of a workload. */
export interface LabelledFacts {
  /** `Deployment shop/web`. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** Undefined when it has no list of ports. */
  readonly portNames: readonly string[] | undefined;
  /** Container ports; empty when it has no list of ports. */
  readonly portNumbers: readonly number[];
  readonly place: Place;
}

export interface EndpointsFacts {
  readonly key: string;
  readonly labels: Labels;
  /** Undefined where annotations are not shown. */
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
  readonly ip: string | undefined;
  /** How it ends; undefined when it is unknown. */
  readonly ending?: PodEnding | undefined;
  readonly place: Place;
}

export interface PodEnding {
  /** When it was asked to end; undefined while it was not. */
  readonly sinceMs: number | undefined;
  readonly graceSeconds: number | undefined;
  /** The sleep of its preStop hook; 0 without one. */
  readonly sleepSeconds: number;
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

/** With those of custom resources. */
const kindsMax = 2_000;

const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
/** Of `overCapacity`: the object has no such annotation. */
export const unmarked = "none";

const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

export class ObjectFacts {
  /** Kinds of which objects were read, or an empty list: `Ingress`. */
  readonly kinds = new Set<string>();
  readonly leaders: LeaderRecord[] = [];
  readonly services = new Map<string, ServiceFacts>();
  readonly endpoints = new Map<string, EndpointsFacts>();
  readonly pods = new Map<string, PodFacts>();
  /** All addresses of Endpoints and EndpointSlices, ready or not. */
  readonly listedAddresses = new Set<string>();
  /** The ports of these addresses. */
  readonly listedPorts = new Set<number>();
  /** kubectl has left addresses out: `+ 3 more...`. */
  isListCut = false;
  /** By `namespace/pod`: when the kubelet was asked to stop it, by an Event. */
  readonly stopped = new Map<string, { readonly atMs: number; readonly place: Place }>();
  readonly labelled: LabelledFacts[] = [];
  readonly nodes = new Map<string, NodeFacts>();
  readonly ingresses = new Map<string, IngressFacts>();
  /** By `ClusterRole NAME` or `Role NAMESPACE/NAME`: `get endpoints` and so on. */
  readonly roles = new Map<string, ReadonlySet<string>>();
  readonly grants = new Grants();
  /** Namespaces of which a list of pods was given, so that an absent pod does not exist. */
  readonly listedPods = new Map<string, Place>();
  /** Names of running containers on a machine, by `namespace/pod`: from `docker ps`. */
  readonly runningContainers = new Map<string, Place>();
  /** Samples over time. */
  readonly observed = new Observations();
  /** API servers that were asked one by one. */
  readonly apiServers = new ApiServers();
  /** Of API servers. */
  readonly audit = new AuditTrail();
  /** Lists and objects that were not read because of their size. */
  readonly tooLarge: Place[] = [];
  /** The newest renewal of any Lease, heartbeats of nodes included. */
  newestRenewalMs: number | undefined;

  /** Lists are taken apart; what is no object is passed over. */
  add(value: unknown, place: Place): void {
    if (!isRecord(value)) return;
    const { kind, items } = value;
    if (Array.isArray(items)) {
      const itemKind = typeof kind === "string" ? kind.replace(/List$/, "") : "";
      for (const item of items) {
        if (isRecord(item)) this.add({ kind: itemKind, ...item }, place);
      }
      if (itemKind !== "") this.#noteKind(itemKind);
      if (itemKind === "Pod") this.#listPods(items, place);
      return;
    }
    if (typeof kind !== "string") return;
    this.#noteKind(kind);
    this.#addObject(kind, value, place);
  }

  #noteKind(kind: string): void {
    if (this.kinds.size < kindsMax) this.kinds.add(kind);
  }

  /** A row of a table or a key of etcd: the pod exists, and little else is known of it. */
  addPodRow(row: PodRow): void {
    const { namespace, name, place, isTerminating = false, ip, labels, isListed = true } = row;
    if (isListed) this.listedPods.set(namespace, place);
    const key = `${namespace}/${name}`;
    if (this.pods.has(key) || this.pods.size >= objectsMax) return;
    const unknown = { ready: undefined, containersReady: undefined };
    this.pods.set(key, { key, ...unknown, isTerminating, ip, place });
    if (labels !== undefined) {
      const unlisted = { portNames: undefined, portNumbers: [] };
      this.#addLabelled({ name: `pod ${key}`, namespace, labels, ...unlisted, place });
    }
  }

  /** `Ready`, `NotReady,SchedulingDisabled`. */
  addNodeRow(name: string, status: string, place: Place): void {
    if (this.nodes.has(name)) return;
    const ready = status.startsWith("Ready") ? "True" : "False";
    keep(this.nodes, name, { name, ready, reason: undefined, place });
  }

  /** As a table or `kubectl describe` shows it. */
  addIngressRow(key: string, hasAddress: boolean, place: Place): void {
    this.#noteKind("Ingress");
    if (!this.ingresses.has(key)) {
      keep(this.ingresses, key, { key, addresses: hasAddress ? 1 : 0, place });
    }
  }

  /** As a table or `kubectl describe` shows it. */
  addEndpointsRow(
    key: string,
    shown: Pick<EndpointsFacts, "ready" | "notReady" | "overCapacity">,
    place: Place,
  ): void {
    this.#noteKind("Endpoints");
    if (!this.endpoints.has(key)) keep(this.endpoints, key, { key, labels: {}, ...shown, place });
  }

  /** The pods of a described workload. */
  addTemplate(described: DescribedTemplate): void {
    const { namespace, name, labels, portNumbers, place } = described;
    const facts = { name: `workload ${namespace}/${name}`, namespace, labels, portNumbers };
    this.#addLabelled({ ...facts, portNames: undefined, place });
  }

  /** The Ready condition of a described node. */
  addNodeCondition(
    name: string,
    condition: Pick<NodeFacts, "ready" | "reason">,
    place: Place,
  ): void {
    keep(this.nodes, name, { name, ...condition, place });
  }

  /** Of a service whose namespace may be left out in one of the two objects. */
  endpointsOf(key: string): EndpointsFacts | undefined {
    const near = key.startsWith("/") ? `default${key}` : key.replace(/^default\//, "/");
    return this.endpoints.get(key) ?? this.endpoints.get(near);
  }

  /** `10.0.0.1:80,10.0.0.2:80 + 3 more...`, as tables and descriptions show addresses. */
  listText(text: string): void {
    if (/\bmore\.\.\./.test(text)) this.isListCut = true;
    for (const one of text.split(/[\s,]+/)) this.#list(hostOf(one), [portOf(one)]);
  }

  /** A service as a wide table shows it, without its target ports. */
  addServiceRow(
    key: string,
    selector: Labels,
    place: Place,
    ports: Pick<ServiceFacts, "portNames" | "portNumbers"> = { portNames: [], portNumbers: [] },
  ): void {
    this.#noteKind("Service");
    if (this.services.has(key)) return;
    const shown = { key, isHeadless: false, selector, ...ports, labels: {}, place };
    keep(this.services, key, shown);
  }

  /** A service as `kubectl describe` shows it. */
  addDescribedService(described: DescribedService): void {
    const { namespace, name, selector, portNames, portNumbers, ready, place } = described;
    const key = `${namespace}/${name}`;
    const isNew = !this.services.has(key);
    this.addServiceRow(key, selector, place, { portNames, portNumbers });
    if (!isNew) return;
    this.addEndpointsRow(key, { ready, notReady: 0, overCapacity: undefined }, place);
  }

  #addLabelled(facts: LabelledFacts): void {
    if (this.labelled.length < objectsMax) this.labelled.push(facts);
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
        keep(this.services, key, {
          key,
          isHeadless: clusterIP === "None",
          selector: textsIn(object, "spec", "selector"),
          portNames: namesIn(arrayIn(object, "spec", "ports"), "targetPort"),
          portNumbers: numbersIn(arrayIn(object, "spec", "ports"), "targetPort"),
          labels,
          place,
        });
        return;
      }
      case "Endpoints": {
        const subsets = arrayIn(object, "subsets").filter(isRecord);
        const count = (field: string) =>
          subsets.reduce((sum, subset) => sum + arrayIn(subset, field).length, 0);
        const overCapacity = annotations[overCapacityAnnotation] ?? unmarked;
        const addresses = { ready: count("addresses"), notReady: count("notReadyAddresses") };
        keep(this.endpoints, key, { key, labels, overCapacity, ...addresses, place });
        for (const subset of subsets) {
          const all = [...arrayIn(subset, "addresses"), ...arrayIn(subset, "notReadyAddresses")];
          const ports = numbersIn(arrayIn(subset, "ports"), "port");
          for (const one of all) this.#list(isRecord(one) ? one["ip"] : undefined, ports);
        }
        return;
      }
      case "ClusterRole":
      case "Role": {
        const role = `${kind} ${kind === "Role" ? key : name}`;
        keep(this.roles, role, permissionsIn(object));
        this.grants.addRole(role, arrayIn(object, "rules"));
        return;
      }
      case "ClusterRoleBinding":
        this.grants.addBinding(object, undefined, place);
        return;
      case "RoleBinding":
        this.grants.addBinding(object, namespace, place);
        return;
      case "EndpointSlice":
        for (const one of arrayIn(object, "endpoints")) {
          const ports = numbersIn(arrayIn(object, "ports"), "port");
          const addresses = isRecord(one) ? arrayIn(one, "addresses") : [];
          for (const address of addresses) this.#list(address, ports);
        }
        return;
      case "Pod": {
        const containers = arrayIn(object, "status", "containerStatuses").filter(isRecord);
        keep(this.pods, key, {
          key,
          ready: readyIn(object) === undefined ? undefined : readyIn(object)?.status === "True",
          containersReady:
            containers.length === 0 ? undefined : containers.every(({ ready }) => ready === true),
          isTerminating: valueIn(object, ["metadata", "deletionTimestamp"]) !== undefined,
          ip: textIn(object, "status", "podIP"),
          ending: endingOf(object),
          place,
        });
        const ports = containerPortsIn(object);
        this.#addLabelled({ name: `pod ${key}`, namespace, labels, ...ports, place });
        return;
      }
      case "Deployment":
      case "DaemonSet":
      case "StatefulSet":
      case "ReplicaSet":
      case "ReplicationController": {
        const template = valueIn(object, ["spec", "template"]);
        if (!isRecord(template)) return;
        this.#addLabelled({
          name: `${kind} ${key}`,
          namespace,
          labels: textsIn(template, "metadata", "labels"),
          ...containerPortsIn(template),
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
      case "Event":
        if (String(object["apiVersion"]).startsWith("audit.k8s.io/")) this.#addAudit(object, place);
        else this.#addEvent(object, place);
        return;
      case apiServerKind:
        this.apiServers.add(object, place);
        return;
      case observationKind:
        this.observed.add(object, place);
        return;
      default:
    }
  }

  #list(address: unknown, ports: readonly (number | undefined)[]): void {
    if (typeof address !== "string" || !isIp(address)) return;
    if (this.listedAddresses.size >= objectsMax) return;
    this.listedAddresses.add(address);
    for (const port of ports) if (port !== undefined) this.listedPorts.add(port);
  }

  /** Writes of the `kubernetes` endpoints are samples of them. */
  #addAudit(event: RawRecord, place: Place): void {
    this.audit.add(event, place);
    const written = valueIn(event, ["requestObject"]);
    const isKubernetes =
      textIn(event, "objectRef", "resource") === "endpoints" &&
      textIn(event, "objectRef", "namespace") === "default" &&
      textIn(event, "objectRef", "name") === "kubernetes";
    if (!isKubernetes || !isRecord(written)) return;
    const kubernetesAddresses = arrayIn(written, "subsets")
      .filter(isRecord)
      .flatMap((subset) => arrayIn(subset, "addresses").filter(isRecord))
      .flatMap((address) => textIn(address, "ip") ?? []);
    this.observed.add({ observedAt: event["stageTimestamp"], kubernetesAddresses }, place);
  }

  #addEvent(object: RawRecord, place: Place): void {
    if (textIn(object, "reason") !== "Killing") return;
    const about = valueIn(object, ["involvedObject"]);
    const atMs = Date.parse(textIn(object, "lastTimestamp") ?? textIn(object, "eventTime") ?? "");
    if (!isRecord(about) || Number.isNaN(atMs)) return;
    const key = `${textIn(about, "namespace") ?? ""}/${textIn(about, "name") ?? ""}`;
    keep(this.stopped, key, { atMs, place });
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
    const renewTime = textIn(record, "renewTime");
    const renewedMs = Date.parse(renewTime ?? "");
    if (!Number.isNaN(renewedMs)) {
      this.newestRenewalMs = Math.max(renewedMs, this.newestRenewalMs ?? 0);
    }
    if (holder === undefined || holder === "") return;
    // Leases of kubelets and API servers are heartbeats, not locks.
    if (namespace === "kube-node-lease" || holder.startsWith("kube-apiserver-")) return;
    const seconds = record["leaseDurationSeconds"];
    const durationSeconds = typeof seconds === "number" ? seconds : undefined;
    this.leaders.push({ lock: key, namespace, holder, renewTime, durationSeconds, place });
  }
}

function permissionsIn(role: RawRecord): ReadonlySet<string> {
  const rules = arrayIn(role, "rules").filter(isRecord);
  return new Set(
    rules.flatMap((rule) =>
      arrayIn(rule, "resources").flatMap((resource) =>
        arrayIn(rule, "verbs").map((verb) => `${String(verb)} ${String(resource)}`),
      ),
    ),
  );
}

/** `10.0.0.1:80`, `[fd00::1]:80`. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
}

export function portOf(address: string): number | undefined {
  const port = /:(\d{1,5})$/.exec(address)?.[1];
  return port === undefined ? undefined : Number(port);
}

/** `deletionTimestamp` is the end of the grace period, not its start. */
function endingOf(pod: RawRecord): PodEnding {
  const deletedMs = Date.parse(textIn(pod, "metadata", "deletionTimestamp") ?? "");
  const graceOfDeletion = valueIn(pod, ["metadata", "deletionGracePeriodSeconds"]);
  const graceSeconds = valueIn(pod, ["spec", "terminationGracePeriodSeconds"]);
  const isKnown = !Number.isNaN(deletedMs) && typeof graceOfDeletion === "number";
  const sleeps = arrayIn(pod, "spec", "containers").filter(isRecord).map(preStopSleep);
  return {
    sinceMs: isKnown ? deletedMs - graceOfDeletion * 1000 : undefined,
    graceSeconds: typeof graceSeconds === "number" ? graceSeconds : undefined,
    sleepSeconds: Math.max(0, ...sleeps),
  };
}

/** `sleep: { seconds: 10 }`, or a command with `sleep 10` in it. */
function preStopSleep(container: RawRecord): number {
  const seconds = valueIn(container, ["lifecycle", "preStop", "sleep", "seconds"]);
  if (typeof seconds === "number") return seconds;
  const command = arrayIn(container, "lifecycle", "preStop", "exec", "command").join(" ");
  return Number(/\bsleep (\d{1,5})/.exec(command)?.[1] ?? 0);
}

export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  readonly place: Place;
  readonly isTerminating?: boolean;
  readonly ip?: string | undefined;
  readonly labels?: Labels | undefined;
  /** Unless given the row is one of a list of all pods of the namespace. */
  readonly isListed?: boolean;
}

export interface DescribedService {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Labels;
  readonly portNames: readonly string[];
  readonly portNumbers: readonly number[];
  /** Addresses; long lists are cut by kubectl. */
  readonly ready: number;
  readonly place: Place;
}

interface DescribedTemplate extends Pick<LabelledFacts, "namespace" | "labels" | "portNumbers"> {
  readonly name: string;
  readonly place: Place;
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

/** Of the containers of a pod or of a template; the names are undefined when none of them lists ports. */
function containerPortsIn(object: RawRecord): Pick<LabelledFacts, "portNames" | "portNumbers"> {
  const ports = arrayIn(object, "spec", "containers")
    .filter(isRecord)
    .flatMap((container) => arrayIn(container, "ports"));
  return {
    portNames: ports.length === 0 ? undefined : namesIn(ports, "name"),
    portNumbers: numbersIn(ports, "containerPort"),
  };
}

function numbersIn(values: readonly unknown[], field: string): readonly number[] {
  return values.filter(isRecord).flatMap((value) => {
    const number = value[field];
    return typeof number === "number" ? [number] : [];
  });
}

function namesIn(values: readonly unknown[], field: string): readonly string[] {
  return values.filter(isRecord).flatMap((value) => textIn(value, field) ?? []);
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
