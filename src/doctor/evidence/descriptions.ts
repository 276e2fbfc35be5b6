// Reads `kubectl describe` of services, Endpoints, slices, pods, workloads, nodes, Ingresses and
// Leases. Its fields stand in columns, a value may go on below, and people cut what they think is
// unimportant.
import { type ObjectFacts, unmarked } from "./objects.ts";
import type { Place } from "./sign-log.ts";

interface Description {
  readonly place: Place;
  readonly namespace: string;
  readonly fields: Map<string, string>;
  last: string;
  /** Below `Pod Template:` of a workload: the labels and ports are those of its pods. */
  isTemplate: boolean;
}

const fieldLine =
  /^\s{0,12}(Name|Namespace|Selector|Endpoints|Labels|Address|Default backend|Rules|Node|Status|IP|Holder Identity|Renew Time|TargetPort|Port|Addresses|NotReadyAddresses|Pod Template):\s*(.*)$/;

/** A slice has a list of addresses for each endpoint. */
const sliceLine = /^\s*- Addresses:\s+(\S+)$/;

/** The condition of a node; that of a pod has no times. */
const readyLine = /^\s+Ready\s+(True|False|Unknown)\s+\w{3}, .{20,80}?\s{2,}([A-Z]\w+)(?:\s|$)/;

const overCapacityLine = /endpoints\.kubernetes\.io\/over-capacity(?::\s*|=)(\w+)/;

/** The second line of labels and the ones after it. */
const labelLine = /^\s{6,}([\w./-]{1,317}=[\w.-]{0,63})\s*$/;

/** More labels are not compared. */
const valueCharsMax = 4_096;

/** A service or a container has several. */
const severalFields = new Set(["Port", "TargetPort", "Addresses", "NotReadyAddresses"]);

const leaderLine =
  /control-plane\.alpha\.kubernetes\.io\/leader(?::\s*|=)(\{"holderIdentity".{1,1024})$/;

export class DescriptionReader {
  readonly #objects: ObjectFacts;
  #description: Description | undefined;

  constructor(objects: ObjectFacts) {
    this.#objects = objects;
  }

  /** Whether the line belongs to a description; `namespace` is the one of the last command. */
  read(text: string, place: Place, namespace: string): boolean {
    if (this.#readLeader(text) || this.#readOther(text)) return true;
    const [, field, value = ""] = fieldLine.exec(text) ?? [];
    const description = this.#description;
    if (field === undefined) return description !== undefined && continueLabels(description, text);
    if (field === "Name") {
      this.end();
      const fields = new Map<string, string>();
      this.#description = { place, namespace, fields, last: field, isTemplate: false };
    }
    const own = this.#description;
    if (own === undefined) return false;
    own.last = field;
    if (field === "Pod Template") own.isTemplate = true;
    const name = own.isTemplate ? `Template ${field}` : field;
    const before = own.fields.get(name);
    if (before === undefined) own.fields.set(name, value.trim());
    else if (severalFields.has(field) && before.length < valueCharsMax) {
      own.fields.set(name, `${before},${value.trim()}`);
    }
    return true;
  }

  /** Rows of a description that are no fields. */
  #readOther(text: string): boolean {
    const own = this.#description;
    if (own === undefined) return false;
    const address = sliceLine.exec(text)?.[1];
    if (address !== undefined) this.#objects.listText(address);
    const [, ready, reason = ""] = readyLine.exec(text) ?? [];
    if (ready !== undefined) own.fields.set("ready", `${ready} ${reason}`);
    const overCapacity = overCapacityLine.exec(text)?.[1];
    if (overCapacity !== undefined) own.fields.set("over-capacity", overCapacity);
    // A line with a reason of the kubelet is also a sign.
    return address !== undefined || overCapacity !== undefined;
  }

  /** The text, or this description, is over. */
  end(): void {
    const description = this.#description;
    this.#description = undefined;
    if (description !== undefined) addTo(this.#objects, description);
  }

  /** The record of a leader in the annotations of a ConfigMap or of Endpoints. */
  #readLeader(text: string): boolean {
    const record = leaderLine.exec(text)?.[1];
    if (record === undefined || this.#description === undefined) return false;
    this.#description.fields.set("leader", record.trim());
    return true;
  }
}

function continueLabels(description: Description, text: string): boolean {
  const label = description.last === "Labels" ? labelLine.exec(text)?.[1] : undefined;
  if (label === undefined) return false;
  const field = description.isTemplate ? "Template Labels" : "Labels";
  const before = description.fields.get(field) ?? "";
  if (before.length < valueCharsMax) description.fields.set(field, `${before},${label}`);
  return true;
}

function addTo(objects: ObjectFacts, { place, fields, namespace: around }: Description): void {
  const name = fields.get("Name") ?? "";
  const namespace = fields.get("Namespace") ?? around;
  const metadata = { name, namespace };
  const template = labelsIn(fields.get("Template Labels"));
  if (template !== undefined) {
    const portNumbers = portsIn(fields.get("Template Port")).map(Number);
    objects.addTemplate({ namespace, name, labels: template, portNumbers, place });
    return;
  }
  const [ready, reason] = (fields.get("ready") ?? "").split(" ");
  if (ready !== undefined && ready !== "") {
    objects.addNodeCondition(name, { ready, reason }, place);
    return;
  }
  const addresses = fields.get("Addresses");
  if (addresses !== undefined) {
    const notReady = fields.get("NotReadyAddresses") ?? "";
    objects.listText(`${addresses},${notReady}`);
    const counts = { ready: countOf(addresses), notReady: countOf(notReady) };
    const overCapacity = fields.get("over-capacity") ?? unmarked;
    objects.addEndpointsRow(`${namespace}/${name}`, { ...counts, overCapacity }, place);
    return;
  }
  const selector = labelsIn(fields.get("Selector"));
  const endpoints = fields.get("Endpoints");
  if (endpoints !== undefined) {
    objects.listText(endpoints);
    if (selector === undefined) return;
    const ports = portsIn(fields.get("TargetPort"));
    const portNames = ports.filter((port) => !/^\d+$/.test(port));
    const portNumbers = ports.filter((port) => /^\d+$/.test(port)).map(Number);
    const described = { namespace, name, selector, portNames, portNumbers, place };
    objects.addDescribedService({ ...described, ready: countOf(endpoints) });
    return;
  }
  const holder = fields.get("Holder Identity");
  if (holder !== undefined) {
    const spec = { holderIdentity: holder, renewTime: fields.get("Renew Time") };
    objects.add({ kind: "Lease", metadata, spec }, place);
    return;
  }
  const leader = fields.get("leader");
  if (leader !== undefined) {
    const annotations = { "control-plane.alpha.kubernetes.io/leader": leader };
    objects.add({ kind: "ConfigMap", metadata: { ...metadata, annotations } }, place);
    return;
  }
  if (fields.has("Address") && (fields.has("Rules") || fields.has("Default backend"))) {
    objects.addIngressRow(`${namespace}/${name}`, fields.get("Address") !== "", place);
    return;
  }
  const labels = labelsIn(fields.get("Labels"));
  if (labels !== undefined && fields.has("Node") && fields.has("Status")) {
    const ip = fields.get("IP");
    objects.addPodRow({ namespace, name, place, ip, labels, isListed: false });
  }
}

function countOf(addresses: string): number {
  return addresses.split(",").filter((one) => one !== "" && one !== "<none>").length;
}

/** `8080/TCP`, `http/TCP`, `8080/TCP (http)`. */
function portsIn(text: string | undefined): readonly string[] {
  return [...(text ?? "").matchAll(/(?:^|[\s,])([\w-]+)\/(?:TCP|UDP|SCTP)/g)].map(
    ([, port = ""]) => port,
  );
}

/** `app=web,tier=front`; undefined for text that is no list of labels. */
export function labelsIn(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined || !text.includes("=")) return undefined;
  const pairs = text.split(",").map((pair) => pair.trim().split("="));
  return Object.fromEntries(pairs.map(([key = "", value = ""]) => [key, value]));
}
