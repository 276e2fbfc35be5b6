// Makes the lines of a recording anonymous: names, label keys and values, uids and addresses are
// replaced, consistently, so that all conclusions stay possible. Times, ports and the words of
// Kubernetes itself stay as they are. Unknown fields are replaced too or left out.
import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** Fields whose text is a word of Kubernetes or of a recording, or a time. */
const keptFields = wordSet(
  "at after kind run change by listed type form resource state currency phase status " +
    "protocol addressType creationTimestamp deletionTimestamp startedAt finishedAt " +
    "lastTransitionTime lastHeartbeatTime ipFamilies direction cause record",
);

/** Sentences and reasons: they may name anything. */
const emptiedFields: ReadonlySet<string> = new Set(["detail", "doubt", "failure"]);

/** Maps with keys of the user's own. */
const mapFields: ReadonlySet<string> = new Set(["labels", "selector", "annotations", "services"]);

/** All other fields of a recording. A field that is in no list is left out. */
const knownFields = wordSet(
  "version t since first alive behind input watched monotonicMs wallMs clusters aliases " +
    "isBusiness isAccess namespaces nodes asked copies proxies logs cluster namespace name " +
    "uid object metadata spec deletionGracePeriodSeconds nodeName hostNetwork " +
    "containers ports port containerPort hostPort targetPort readinessProbe podIP " +
    "podIPs ip conditions containerStatuses ready serving terminating restartCount " +
    "lastState running waiting terminated exitCode reason endpoints addresses " +
    "notReadyAddresses subsets targetRef externalName clusterIP clusterIPs " +
    "publishNotReadyAddresses isHeard standing hasSlices of replica routed log traffic " +
    "service address podUid notBefore request failed notes changes endpoint podName",
);

/** Keys that Kubernetes or Lockstep gives a meaning. */
const knownKeys: ReadonlySet<string> = new Set([
  "kubernetes.io/service-name",
  "endpointslice.kubernetes.io/managed-by",
  "app.kubernetes.io/managed-by",
  "lockstep.dev/source-cluster",
  "multicluster.kubernetes.io/service-name",
  "multicluster.kubernetes.io/source-cluster",
  "endpoints.kubernetes.io/last-change-trigger-time",
  "endpointslice.karmada.io/provision-cluster",
  "service.kubernetes.io/headless",
]);

/** Values of such keys that are words and no names: who manages it, a time, nothing. */
const keptValue = /^(?:lockstep[\w.-]*|endpointslice[\w-]*\.k8s\.io|\d{4}-\d{2}-\d{2}T[\d:.]+Z|)$/;

/** `OOMKilled`, `ContainersNotReady`: reasons that Kubernetes gives. */
const reasonWord = /^[A-Z][A-Za-z]{0,40}$/;

const uuidForm = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

const leftOut = "(left out)";

/** Names that were replaced lately: the same few come again and again. */
const rememberedMax = 100_000;

export class Anonymizer {
  readonly #key: string;
  readonly #remembered = new Map<string, string>();

  /** By the same key the same names become the same. It is not to be stored. */
  constructor(key: string) {
    this.#key = key;
  }

  /** The line as it may be shown; undefined for one that cannot be read. */
  line(text: string): string | undefined {
    try {
      const line: unknown = JSON.parse(text);
      return isRecord(line) ? JSON.stringify(this.#record(line)) : undefined;
    } catch {
      // Half of a line: its content is unknown.
      return undefined;
    }
  }

  /** A name or an address, as `line` replaces it. */
  name(text: string): string {
    return this.#text(text);
  }

  #record(record: RawRecord): RawRecord {
    return Object.fromEntries(
      Object.entries(record).flatMap(([field, value]) => {
        const anonymous = this.#field(field, value);
        return anonymous === undefined ? [] : [[field, anonymous]];
      }),
    );
  }

  /** Undefined for what is left out. */
  #field(field: string, value: unknown): unknown {
    if (mapFields.has(field) && isRecord(value)) return this.#map(field, value);
    if (emptiedFields.has(field)) return value === undefined || value === "" ? value : leftOut;
    if (field === "notes") return [];
    const isKept = keptFields.has(field);
    if (!isKept && !knownFields.has(field) && !mapFields.has(field)) return undefined;
    return this.#value(field, value);
  }

  #value(field: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#value(field, one));
    if (isRecord(value)) return this.#record(value);
    if (typeof value !== "string") return value;
    if (keptFields.has(field)) return value;
    if (field === "reason") return reasonWord.test(value) ? value : leftOut;
    if (field === "behind") return this.#behind(value);
    return this.#text(value);
  }

  #map(field: string, map: RawRecord): RawRecord {
    return Object.fromEntries(
      Object.entries(map).map(([key, value]) => {
        if (field === "services") return [this.#text(key), this.#value("endpoints", value)];
        const isKnown = knownKeys.has(key);
        const text = typeof value === "string" ? value : "";
        const isKept = isKnown && !key.endsWith("cluster") && keptValue.test(text);
        return [isKnown ? key : this.#text(key), isKept ? value : this.#text(text)];
      }),
    );
  }

  /** `cluster resource`. */
  #behind(text: string): string {
    const space = text.lastIndexOf(" ");
    return `${this.#text(text.slice(0, space))}${text.slice(space)}`;
  }

  #text(text: string): string {
    if (text === "" || text === "None") return text;
    const known = this.#remembered.get(text);
    if (known !== undefined) return known;
    const anonymous = this.#replacement(text);
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(text, anonymous);
    return anonymous;
  }

  #replacement(text: string): string {
    const family = isIP(text);
    if (family === 4) return this.#ipv4(text);
    if (family === 6) return this.#ipv6(text);
    if (uuidForm.test(text)) return this.#uuid(text);
    const slash = text.indexOf("/");
    // A service: its namespace and its name are names of their own.
    if (slash > 0)
      return `${this.#text(text.slice(0, slash))}/${this.#text(text.slice(slash + 1))}`;
    return `n${this.#hash("name", text).subarray(0, 5).toString("hex")}`;
  }

  /** A permutation, so that no two addresses become one: four rounds on the halves. */
  #ipv4(text: string): string {
    const bytes = text.split(".").map(Number);
    let [left, right] = [halfOf(bytes, 0), halfOf(bytes, 2)];
    for (let round = 0; round < 4; round += 1) {
      const mixed = this.#hash(`ipv4 ${round}`, String(right)).readUInt16BE(0);
      [left, right] = [right, left ^ mixed];
    }
    return [left >> 8, left & 255, right >> 8, right & 255].join(".");
  }

  /** Of the range for private networks; of 120 bits no two are the same. */
  #ipv6(text: string): string {
    const digits = this.#hash("ipv6", text.toLowerCase()).subarray(0, 15).toString("hex");
    return `fd${digits}`.replaceAll(/(.{4})(?=.)/g, "$1:");
  }

  #uuid(text: string): string {
    const digits = this.#hash("uid", text).subarray(0, 16).toString("hex");
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  #hash(what: string, text: string): Buffer {
    return createHmac("sha256", this.#key).update(`${what}\n${text}`).digest();
  }
}

function halfOf(bytes: readonly number[], from: number): number {
  return ((bytes[from] ?? 0) << 8) | (bytes[from + 1] ?? 0);
}
