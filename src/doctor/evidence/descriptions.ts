// What `kubectl describe` shows of services, pods, Ingresses and Leases. Its fields stand in columns, a
// value may go on below, and people cut what they think is unimportant.
import type { ObjectFacts } from "./objects.ts";
import type { Place } from "./sign-log.ts";

interface Description {
  readonly place: Place;
  readonly namespace: string;
  readonly fields: Map<string, string>;
  last: string;
}

const fieldLine =
  /^\s{0,12}(Name|Namespace|Selector|Endpoints|Labels|Address|Default backend|Rules|Node|Status|IP|Holder Identity|Renew Time):\s*(.*)$/;

/** The second line of labels and the ones after it. */
const labelLine = /^\s{6,}([\w./-]{1,317}=[\w.-]{0,63})\s*$/;

/** More labels are not compared. */
const valueCharsMax = 4_096;

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
    if (this.#readLeader(text)) return true;
    const [, field, value = ""] = fieldLine.exec(text) ?? [];
    const description = this.#description;
    if (field === undefined) return description !== undefined && continueLabels(description, text);
    if (field === "Name") {
      this.end();
      this.#description = { place, namespace, fields: new Map(), last: field };
    }
    const own = this.#description;
    if (own === undefined) return false;
    own.last = field;
    if (!own.fields.has(field)) own.fields.set(field, value.trim());
    return true;
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
  const before = description.fields.get("Labels") ?? "";
  if (before.length < valueCharsMax) description.fields.set("Labels", `${before},${label}`);
  return true;
}

function addTo(objects: ObjectFacts, { place, fields, namespace: around }: Description): void {
  const name = fields.get("Name") ?? "";
  const namespace = fields.get("Namespace") ?? around;
  const metadata = { name, namespace };
  const selector = labelsIn(fields.get("Selector"));
  const endpoints = fields.get("Endpoints");
  if (endpoints !== undefined) {
    objects.listText(endpoints);
    if (selector === undefined) return;
    const ready = /^(?:<none>)?$/.test(endpoints) ? 0 : endpoints.split(",").length;
    objects.addDescribedService({ namespace, name, selector, ready, place });
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

/** `app=web,tier=front`; undefined for text that is no list of labels. */
export function labelsIn(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined || !text.includes("=")) return undefined;
  const pairs = text.split(",").map((pair) => pair.trim().split("="));
  return Object.fromEntries(pairs.map(([key = "", value = ""]) => [key, value]));
}
