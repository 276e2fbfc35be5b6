// Takes out of a transcript what two right servers may do differently: identities, versions, times,
// addresses and ports they choose themselves. Their meaning stays: the same uid becomes the
// same word, versions keep their order, times their distance from the start.
import type { Step, Transcript } from "./contract-case.ts";

export interface CaseFacts {
  /** The case's own name on this server. */
  readonly name: string;
  readonly startedMs: number;
  /** The body of each step: values that the client named first are its choice and stay. */
  readonly requests: readonly string[];
}

export function normalise(steps: Transcript, facts: CaseFacts): Transcript {
  const words = new Words(facts, steps);
  for (const step of steps) words.learn(step.body);
  return steps.map((step) => ({
    request: words.text(step.request),
    status: step.status,
    headers: headersOf(step.headers),
    body: words.value(step.body),
  }));
}

/** Headers of the connection and of the moment. */
const ignoredHeaders = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
const clusterIp = /\b10\.96\.\d{1,3}\.\d{1,3}\b/g;

/** Times this near to the start are the server's own; others came from the client. */
const nearMs = 2 * 3600 * 1000;
/** Distances are rounded to this, because a busy machine takes its time. */
const roundMs = 10_000;
/** The random end of a generated name. */
const suffixLength = 5;
/** How much of its base a generated name keeps. */
const baseMax = 58;

function headersOf(headers: Step["headers"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of Object.keys(headers).sort()) {
    if (!ignoredHeaders.has(name)) kept[name] = (headers[name] ?? "").replaceAll(uuid, "<id>");
  }
  return kept;
}

/** The vocabulary of one transcript. */
class Words {
  readonly #name: string;
  readonly #startedMs: number;
  readonly #sent: readonly string[];
  readonly #answered: readonly string[];
  /** The prefixes of names that the client asked to generate. */
  readonly #bases: readonly string[];
  /** The placeholder of a value, by the value. */
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** Versions of objects, in the order the server counts them. */
  #versions: number[] = [];

  constructor({ name, startedMs, requests }: CaseFacts, steps: Transcript) {
    this.#name = name;
    this.#startedMs = startedMs;
    this.#sent = requests;
    this.#bases = requests.flatMap((text) =>
      [...text.matchAll(/"generateName":"([^"]+)"/g)].map(([, base = ""]) =>
        base.slice(0, baseMax),
      ),
    );
    this.#answered = steps.map((step) => JSON.stringify(step.body) ?? "");
  }

  /** Notes the versions and generated names of a body; all bodies come before any is written. */
  learn(value: unknown): void {
    if (Array.isArray(value)) {
      for (const item of value) this.learn(item);
    } else if (isObject(value)) {
      this.#learnMeta(value);
      for (const item of Object.values(value)) this.learn(item);
    }
  }

  #learnMeta(object: Record<string, unknown>): void {
    const { uid, resourceVersion, generateName, name } = object;
    if (typeof uid === "string" && isVersion(resourceVersion)) {
      const versions = new Set([...this.#versions, Number(resourceVersion)]);
      this.#versions = [...versions].sort((a, b) => a - b);
    }
    if (typeof generateName === "string" && typeof name === "string" && generateName !== "") {
      if (!this.#isClients(name)) {
        this.#word(name, () => `${name.slice(0, -suffixLength)}<suffix>`);
      }
    }
  }

  value(value: unknown, field = "", parent: Record<string, unknown> = {}): unknown {
    if (field === "cells" && Array.isArray(value)) return value.map((cell) => this.#cell(cell));
    if (field === "managedFields" && Array.isArray(value)) return this.#owners(value);
    if (field === "generateName") return value;
    if (typeof value === "string") {
      if (field === "resourceVersion" && isVersion(value)) return this.#version(value, parent);
      if (field === "continue" && value !== "") return this.#continue(value);
      return this.text(value);
    }
    if (typeof value === "number") return this.#number(value, field);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (!isObject(value)) return value;
    // In one order, so that what is numbered by first sight does not depend on a server's order.
    const keys = Object.keys(value).sort();
    return Object.fromEntries(
      keys.map((key) => [this.text(key), this.value(value[key], key, value)]),
    );
  }

  text(text: string): string {
    let result = text.replaceAll(this.#name, "<name>");
    for (const [value, word] of this.#known) result = result.replaceAll(value, word);
    for (const base of this.#bases) result = this.#withoutSuffix(result, base);
    return result
      .replaceAll(uuid, (found) => this.#unlessSent(found, "uid"))
      .replaceAll(time, (found) => (this.#isClients(found) ? found : this.#time(found)))
      .replaceAll(clusterIp, (found) => this.#unlessSent(found, "ip"))
      .replaceAll(
        /(current: |in record \(|in object meta: (?=\d+$)|resource version: \d+ \()\d+/g,
        "$1<n>",
      )
      .replaceAll(/resourceVersion=(\d+)/g, (whole, digits: string) => {
        const rank = this.#versions.indexOf(Number(digits));
        return rank < 0 ? whole : `resourceVersion=<v${rank}>`;
      })
      .replaceAll(/continue=[^&]+/g, "continue=<token>");
  }

  /** A cell of a Table; ages depend on when one looks. */
  #cell(cell: unknown): unknown {
    if (typeof cell !== "string") return this.value(cell);
    if (/^(\d+s|\d+d|\d+y(\d+d)?)$/.test(cell)) return "<age>";
    return this.text(cell.replaceAll(/:3\d{4}\//g, ":<port>/"));
  }

  /** Sorted by who they are: the server sorts by time, of which one more second may have passed. */
  #owners(owners: readonly unknown[]): readonly unknown[] {
    const nameOf = (owner: unknown): string =>
      isObject(owner) ? `${owner["manager"]} ${owner["operation"]} ${owner["subresource"]}` : "";
    return owners
      .map((owner) => this.value(owner))
      .sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  }

  /** A generated name in a refusal, where only the base is known. */
  #withoutSuffix(text: string, base: string): string {
    let at = text.indexOf(base);
    let result = text;
    while (at >= 0) {
      const end = at + base.length;
      const suffix = result.slice(end, end + suffixLength);
      if (/^[a-z0-9]{5}$/.test(suffix)) {
        result = `${result.slice(0, end)}<suffix>${result.slice(end + suffixLength)}`;
      }
      at = result.indexOf(base, end);
    }
    return result;
  }

  #number(value: number, field: string): unknown {
    const isPort = field === "nodePort" || field === "healthCheckNodePort";
    return isPort && value !== 0 ? this.#unlessSent(String(value), "port") : value;
  }

  /** An object's version by its rank; a collection's by how many of those it has seen. */
  #version(version: string, parent: Record<string, unknown>): string {
    const rank = this.#versions.indexOf(Number(version));
    if (parent["uid"] !== undefined && rank >= 0) return `<v${rank}>`;
    return `<after v${this.#versions.findLastIndex((one) => one <= Number(version))}>`;
  }

  #continue(token: string): string {
    const text = Buffer.from(token, "base64url").toString("utf8");
    return `<token ${this.text(text).replace(/"rv":\d+/, '"rv":<n>')}>`;
  }

  #time(found: string): string {
    const distance = Date.parse(found) - this.#startedMs;
    if (Math.abs(distance) > nearMs) return found;
    const seconds = (Math.round(distance / roundMs) * roundMs) / 1000;
    return seconds === 0 ? "<now>" : `<now+${seconds}s>`;
  }

  #unlessSent(value: string, kind: string): string {
    return this.#isClients(value) ? value : this.#word(value, () => `<${kind}>`);
  }

  /** Whether the client named the value before any answer did. */
  #isClients(value: string): boolean {
    const sentAt = this.#sent.findIndex((text) => text.includes(value));
    return sentAt >= 0 && !this.#answered.slice(0, sentAt).some((text) => text.includes(value));
  }

  #word(value: string, make: () => string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const base = make();
    const count = (this.#counts.get(base) ?? 0) + 1;
    this.#counts.set(base, count);
    const word = base.replace(">", ` ${count}>`);
    this.#known.set(value, word);
    return word;
  }
}

function isVersion(value: unknown): value is string {
  return typeof value === "string" && /^\d+$/.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
