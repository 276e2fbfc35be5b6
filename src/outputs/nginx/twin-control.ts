// The control socket's behaviour without nginx: the twin of proxy/lua/lockstep/control.lua and
// writer.lua, for simulations. The same contract (control.contract.ts) holds for both.
import type { RoutePolicy } from "../../decide/route-policy.ts";
import { regexProblem } from "../../decide/routing/regex.ts";
import type { ServerExchange } from "../../environment/network.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import { type BalancedService, balancedService } from "./balance.ts";
import { type HostEntry, type PushedRule, policyOf } from "./host-entry.ts";
import { type CompiledHost, compileHost } from "./route-match.ts";
import { isServiceEntry } from "./service-entry.ts";
import type { TwinCounters } from "./twin-counters.ts";
import { TwinMemory } from "./twin-memory.ts";
import type { TwinSuspects } from "./twin-suspects.ts";

export interface TwinIdentity {
  readonly bootId: string;
  readonly run: string;
  readonly masterPid: number;
  readonly workerPid: number;
}

/** The entries of one full load, and the changes since. Hosts are compiled when first used. */
class Generation {
  readonly number: number;
  readonly services = new Map<string, BalancedService>();
  /** The twin has no TLS and asks for no password: these are kept as they came. */
  readonly certificates = new Map<string, unknown>();
  readonly serverNames = new Map<string, unknown>();
  readonly users = new Map<string, unknown>();
  readonly #hosts = new Map<string, HostEntry>();
  readonly #policies = new Map<string, RoutePolicy>();
  readonly #compiled = new Map<string, CompiledHost>();

  constructor(number: number) {
    this.number = number;
  }

  set({ field, name, value }: BatchEntry): void {
    if (field === "hosts") setOrDelete(this.#hosts, name, isHostEntry(value) ? value : undefined);
    else if (field === "policies")
      setOrDelete(this.#policies, name, isRecord(value) ? value : undefined);
    else if (field === "services")
      setOrDelete(this.services, name, isServiceEntry(value) ? balancedService(value) : undefined);
    else setOrDelete(this[field], name, value ?? undefined);
    if (field === "hosts" || field === "policies") this.#compiled.clear();
  }

  /** The rules of a host, or of the one whose rules it has. */
  host(name: string): CompiledHost | undefined {
    const entry = this.#hosts.get(name);
    if (typeof entry === "string") return this.#ownRules(entry);
    return entry === undefined ? undefined : this.#ownRules(name);
  }

  #ownRules(name: string): CompiledHost | undefined {
    const entry = this.#hosts.get(name);
    if (entry === undefined || typeof entry === "string") return undefined;
    const known = this.#compiled.get(name) ?? this.#compile(entry);
    this.#compiled.set(name, known);
    return known;
  }

  #compile(entry: Exclude<HostEntry, string>): CompiledHost {
    if (entry === false) return leftOutHost;
    return compileHost(
      entry.map((rule) => {
        const { policy: _, canaries: __, isCookiePath: ___, ...own } = rule;
        const policy = policyOf(rule, (key) => this.#policies.get(key));
        return { ...own, ...(policy && { policy }) };
      }),
    );
  }
}

const leftOutHost = compileHost([
  { path: "/", type: "Prefix", service: "", policy: { closed: true } },
]);

function setOrDelete<Value>(
  known: Map<string, Value>,
  name: string,
  value: Value | undefined,
): void {
  if (value === undefined) known.delete(name);
  else known.set(name, value);
}

/** The state that routes requests. */
export type TwinState = Pick<
  Generation,
  "host" | "services" | "certificates" | "serverNames" | "users"
>;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** As client_max_body_size of the control server. */
const longestBodyBytes = 4 * 1024 * 1024;

/** How large the dictionaries are. */
export interface TwinMemorySizes {
  readonly stateBytes: number;
  readonly certificateBytes: number;
}

/** As in proxy/nginx.conf. */
const usualSizes: TwinMemorySizes = {
  stateBytes: 64 * 1024 * 1024,
  certificateBytes: 192 * 1024 * 1024,
};

export class TwinControl {
  readonly #identity: TwinIdentity;
  readonly #suspects: TwinSuspects;
  readonly #counters: TwinCounters;
  /** The state that requests see; undefined until the first load is complete. */
  visible: Generation | undefined;
  #loading: Generation | undefined;
  readonly #memory: TwinMemory;
  readonly #certificateMemory: TwinMemory;
  #generation = 0;
  #lastGeneration = 0;
  #version = 0;
  #epoch = 0;
  #owner = "";

  constructor(
    identity: TwinIdentity,
    suspects: TwinSuspects,
    counters: TwinCounters,
    { stateBytes, certificateBytes }: TwinMemorySizes = usualSizes,
  ) {
    this.#memory = new TwinMemory(stateBytes);
    this.#certificateMemory = new TwinMemory(certificateBytes);
    this.#identity = identity;
    this.#suspects = suspects;
    this.#counters = counters;
  }

  readonly handle = async (exchange: ServerExchange): Promise<void> => {
    const { method, target } = exchange.request;
    // Held until this process ends.
    if (target === "/hold") {
      exchange.respond(200);
      return;
    }
    const [, after] = /^\/suspects(?:\?after=(\d+))?$/.exec(target) ?? [];
    if (after !== undefined) {
      await this.#suspects.change(Number(after), exchange.request.closed);
    }
    const what = "the body of a push";
    const text = (await readBounded(exchange.request.body, longestBodyBytes, what)).toString();
    const { status, body } = this.#answer(`${method} ${target}`, exchange, text);
    exchange.respond(status).end(Buffer.from(JSON.stringify(body)));
  };

  #answer(what: string, { request }: ServerExchange, text: string): Answer {
    if (what === "GET /state") return { status: 200, body: this.#state() };
    if (what.startsWith("GET /suspects")) return { status: 200, body: this.#listSuspects() };
    const [, since] = /^GET \/counters(?:\?since=(\d+))?$/.exec(what) ?? [];
    if (what.startsWith("GET /counters"))
      return { status: 200, body: this.#count(Number(since ?? 0)) };
    const [, part] = /^PUT \/loads\/(\d+)$/.exec(what) ?? [];
    const [, commit] = /^POST \/loads\/(\d+)\/commit$/.exec(what) ?? [];
    const isBegin = what === "POST /loads";
    const refused = this.#refusal(request.headers, isBegin);
    if (refused !== undefined) return refused;
    if (isBegin) return this.#begin(request.headers);
    if (part !== undefined) return this.#loadPart(Number(part), text);
    if (commit !== undefined) return this.#commit(Number(commit));
    if (what === "PUT /changes") return this.#change(text);
    if (what === "PUT /answered") return this.#endMarks(text);
    return refusal(404, "UNKNOWN", "no such request");
  }

  #state(): Answer["body"] {
    const { bootId, run, masterPid, workerPid } = this.#identity;
    return {
      bootId,
      run,
      generation: this.#generation,
      version: this.#version,
      epoch: this.#epoch,
      owner: this.#owner,
      masterPid,
      workerPids: [workerPid],
    };
  }

  #listSuspects(): Answer["body"] {
    const { changes } = this.#suspects;
    return { owner: this.#owner, changes, suspects: this.#suspects.list() };
  }

  #count(sinceMs: number): Answer["body"] {
    const counters = this.#counters.read(sinceMs, (slot) => this.#suspects.isSuspect(slot));
    return { owner: this.#owner, nowMs: this.#counters.nowMs, counters };
  }

  #refusal(headers: Readonly<Record<string, string>>, isBegin: boolean): Answer | undefined {
    if (headers["x-lockstep-boot"] !== this.#identity.bootId) {
      return refusal(409, "BOOT", "this push is for another nginx process; a full load is needed");
    }
    const epoch = Number(headers["x-lockstep-epoch"]);
    const isOwner = headers["x-lockstep-owner"] === this.#owner;
    const inCharge = epoch === this.#epoch && isOwner;
    if (inCharge || (isBegin && epoch > this.#epoch)) return undefined;
    return refusal(409, "EPOCH", "another pusher controls this nginx");
  }

  #begin(headers: Readonly<Record<string, string>>): Answer {
    const epoch = Number(headers["x-lockstep-epoch"]);
    if (epoch > this.#epoch) {
      this.#suspects.clearAll();
      this.#counters.clearAll();
    }
    this.#epoch = epoch;
    this.#owner = headers["x-lockstep-owner"] ?? "";
    this.#lastGeneration += 1;
    this.#loading = new Generation(this.#lastGeneration);
    this.#makeRoom();
    return { status: 200, body: { generation: this.#lastGeneration } };
  }

  #endMarks(text: string): Answer {
    const slots = parseSlots(text);
    if (typeof slots === "string") return refusal(400, "MALFORMED", slots);
    for (const slot of slots) this.#suspects.endMark(slot);
    return { status: 200, body: {} };
  }

  #loadPart(generation: number, text: string): Answer {
    if (generation !== this.#lastGeneration || this.#loading === undefined) return noLoad();
    return this.#apply(this.#loading, text);
  }

  #commit(generation: number): Answer {
    if (generation !== this.#lastGeneration || this.#loading === undefined) return noLoad();
    this.visible = this.#loading;
    this.#loading = undefined;
    this.#generation = generation;
    this.#makeRoom();
    this.#version += 1;
    return { status: 200, body: { generation, version: this.#version } };
  }

  #change(text: string): Answer {
    if (this.visible === undefined) return noLoad();
    this.#version += 1;
    return this.#apply(this.visible, text);
  }

  /** Entries before one that finds no room stay, as in nginx. */
  #apply(generation: Generation, text: string): Answer {
    const batch = parseBatch(text);
    if (typeof batch === "string") return refusal(400, "MALFORMED", batch);
    for (const entry of batch) {
      const key = `${generation.number}:${entry.field}:${entry.name}`;
      const memory = entry.field === "certificates" ? this.#certificateMemory : this.#memory;
      if (entry.value === null) memory.delete(key);
      else if (!memory.put(key, JSON.stringify(entry.value))) {
        return refusal(507, "NO_MEMORY", "the shared memory is full");
      }
      generation.set(entry);
    }
    return { status: 200, body: { version: this.#version } };
  }

  #makeRoom(): void {
    const numbers = [this.visible, this.#loading].map((one) => `${one?.number}:`);
    const isKept = (key: string): boolean => numbers.some((number) => key.startsWith(number));
    for (const memory of [this.#memory, this.#certificateMemory]) memory.keepOnly(isKept);
  }
}

/** In the order of writer.lua: nothing refers to what is not there yet. */
const fields = ["services", "certificates", "users", "policies", "hosts", "serverNames"] as const;

interface BatchEntry {
  readonly field: (typeof fields)[number];
  readonly name: string;
  /** Well formed; null removes. */
  readonly value: unknown;
}

function parseSlots(text: string): readonly number[] | string {
  const body = parseBody(text);
  const isSlot = (one: unknown): one is number => Number.isInteger(one) && Number(one) >= 0;
  return Array.isArray(body) && body.every(isSlot) ? body : "the body must be a list of slots";
}

/** Undefined when it is not JSON. */
function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All of it, or what is wrong with it. */
function parseBatch(text: string): readonly BatchEntry[] | string {
  const body = parseBody(text);
  if (!isRecord(body)) return "the body must be an object";
  const batch = fields.flatMap((field) =>
    entriesOf(body[field]).map(([name, value]): BatchEntry => ({ field, name, value })),
  );
  for (const { field, value } of batch) {
    if (value === null) continue;
    if (field === "hosts" && !isHostEntry(value)) return "the rules of a host are malformed";
    if (field === "policies" && !isRecord(value)) return "a policy is malformed";
    if (field === "services" && !isServiceEntry(value)) return "a service is malformed";
  }
  return batch;
}

function noLoad(): Answer {
  return refusal(409, "LOAD", "no such load");
}

function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { code, message } };
}

function entriesOf(value: unknown): readonly [string, unknown][] {
  return isRecord(value) ? Object.entries(value) : [];
}

function isHostEntry(value: unknown): value is HostEntry {
  if (typeof value === "string" || value === false) return true;
  return Array.isArray(value) && value.every(isRule);
}

function isRule(value: unknown): value is PushedRule {
  if (!isRecord(value)) return false;
  const { path, type, service, policy } = value;
  if (typeof path !== "string" || !path.startsWith("/") || typeof service !== "string")
    return false;
  if (policy !== undefined && typeof policy !== "string") return false;
  if (type === "Regex") return regexProblem(path) === undefined;
  return type === "Exact" || type === "Prefix";
}
