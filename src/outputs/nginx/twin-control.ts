// The control socket's behaviour without nginx: the twin of proxy/lua/lockstep/control.lua and
// writer.lua, for simulations. The same contract (control.contract.ts) holds for both.
import type { PathRule } from "../../decide/decision.ts";
import { regexProblem } from "../../decide/routing/regex.ts";
import type { ServerExchange } from "../../environment/network.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import { type BalancedService, balancedService } from "./balance.ts";
import { type CompiledHost, compileHost } from "./route-match.ts";
import { isServiceEntry, type ServiceEntry } from "./service-entry.ts";
import type { TwinCounters } from "./twin-counters.ts";
import type { TwinSuspects } from "./twin-suspects.ts";

export interface TwinIdentity {
  readonly bootId: string;
  readonly run: string;
  readonly masterPid: number;
  readonly workerPid: number;
}

/** What one full load brought, and the changes since. */
interface Generation {
  readonly hosts: Map<string, CompiledHost>;
  readonly services: Map<string, BalancedService>;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** As client_max_body_size of the control server. */
const longestBodyBytes = 4 * 1024 * 1024;

export class TwinControl {
  readonly #identity: TwinIdentity;
  readonly #suspects: TwinSuspects;
  readonly #counters: TwinCounters;
  /** What requests see; undefined until the first load is complete. */
  visible: Generation | undefined;
  #loading: Generation | undefined;
  #generation = 0;
  #lastGeneration = 0;
  #version = 0;
  #epoch = 0;
  #owner = "";

  constructor(identity: TwinIdentity, suspects: TwinSuspects, counters: TwinCounters) {
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
      return refusal(409, "BOOT", "made for another nginx; load everything again");
    }
    const epoch = Number(headers["x-lockstep-epoch"]);
    const isOwner = headers["x-lockstep-owner"] === this.#owner;
    const inCharge = epoch === this.#epoch && isOwner;
    if (inCharge || (isBegin && epoch > this.#epoch)) return undefined;
    return refusal(409, "EPOCH", "another pusher is in charge");
  }

  #begin(headers: Readonly<Record<string, string>>): Answer {
    const epoch = Number(headers["x-lockstep-epoch"]);
    if (epoch > this.#epoch) {
      this.#suspects.clearAll();
      this.#counters.clearAll();
    }
    this.#epoch = epoch;
    this.#owner = headers["x-lockstep-owner"] ?? "";
    this.#loading = { hosts: new Map(), services: new Map() };
    this.#lastGeneration += 1;
    return { status: 200, body: { generation: this.#lastGeneration } };
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
    this.#version += 1;
    return { status: 200, body: { generation, version: this.#version } };
  }

  #change(text: string): Answer {
    if (this.visible === undefined) return noLoad();
    this.#version += 1;
    return this.#apply(this.visible, text);
  }

  #apply(generation: Generation, text: string): Answer {
    const batch = parseBatch(text);
    if (typeof batch === "string") return refusal(400, "MALFORMED", batch);
    for (const [name, rules] of batch.hosts) {
      if (rules === undefined) generation.hosts.delete(name);
      else generation.hosts.set(name, compileHost(rules));
    }
    for (const [name, service] of batch.services) {
      if (service === undefined) generation.services.delete(name);
      else generation.services.set(name, balancedService(service));
    }
    return { status: 200, body: { version: this.#version } };
  }
}

interface Batch {
  readonly hosts: ReadonlyMap<string, readonly PathRule[] | undefined>;
  readonly services: ReadonlyMap<string, ServiceEntry | undefined>;
}

/** All of it, or what is wrong with it. */
function parseBatch(text: string): Batch | string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return "the body is not JSON";
  }
  if (!isRecord(body)) return "the body must be an object";
  const hosts = new Map<string, readonly PathRule[] | undefined>();
  const services = new Map<string, ServiceEntry | undefined>();
  for (const [name, value] of entriesOf(body["hosts"])) {
    if (value !== null && !isRules(value)) return "the rules of a host are malformed";
    hosts.set(name, value ?? undefined);
  }
  for (const [name, value] of entriesOf(body["services"])) {
    if (value !== null && !isServiceEntry(value)) return "a service is malformed";
    services.set(name, value ?? undefined);
  }
  return { hosts, services };
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

function isRules(value: unknown): value is readonly PathRule[] {
  return Array.isArray(value) && value.every(isRule);
}

function isRule(value: unknown): value is PathRule {
  if (!isRecord(value)) return false;
  const { path, type, service, policy } = value;
  if (typeof path !== "string" || !path.startsWith("/") || typeof service !== "string")
    return false;
  if (policy !== undefined && !isRecord(policy)) return false;
  if (type === "Regex") return regexProblem(path) === undefined;
  return type === "Exact" || type === "Prefix";
}
