// What nginx should know: hosts with their rules, services with their endpoints, and which of them
// it has not been told yet. Values are kept as the text that is pushed, so a change that makes no
// difference there is none.
// Invariant: a name is among the unpushed exactly when its value changed since it was last taken.

import type { DecidedEndpoint, DecisionChanges, RoutingDecision } from "../../decide/decision.ts";
import { isRouted } from "../../decide/decision.ts";
import { peerKey } from "../../sources/proxy-feedback.ts";
import type { ServiceEndpoints } from "./balancer.ts";
import { SlotTable } from "./slot-table.ts";

export interface ProxyEntry {
  readonly kind: "host" | "service";
  readonly name: string;
  /** JSON; undefined when it is to be removed. */
  readonly value: string | undefined;
  /** The version of the decision about a service; 0 for a host. */
  readonly version: number;
}

/** A service whose decision has a new version that makes no difference to nginx. */
export interface SettledService {
  readonly name: string;
  readonly version: number;
}

interface Value {
  readonly text: string | undefined;
  readonly version: number;
}

export class ProxyState {
  readonly slots = new SlotTable();
  readonly #hosts = new Map<string, Value>();
  readonly #services = new Map<string, Value>();
  /** Endpoints of each service that hold a slot. */
  readonly #slotUsers = new Map<string, readonly string[]>();
  #unpushedHosts = new Set<string>();
  #unpushedServices = new Set<string>();
  /** Never a name that is unpushed: its push will tell the newest version. */
  #settled = new Map<string, number>();

  /** Takes over what changed. */
  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    const services = new Set(changes.services.keys());
    if (changes.routes) {
      this.#applyHosts(decision);
      for (const key of decision.services.keys()) {
        if (this.#services.get(key)?.text === undefined) services.add(key);
      }
      for (const key of this.#services.keys()) if (!decision.services.has(key)) services.add(key);
    }
    for (const key of services) {
      const version = changes.services.get(key) ?? this.#services.get(key)?.version ?? 0;
      this.#applyService(key, decision.services.get(key), version);
    }
  }

  get hasUnpushed(): boolean {
    return this.#unpushedHosts.size + this.#unpushedServices.size > 0;
  }

  /** New versions that nginx already routes by. */
  takeSettled(): readonly SettledService[] {
    const settled = [...this.#settled].map(([name, version]) => ({ name, version }));
    this.#settled = new Map();
    return settled;
  }

  /** What nginx was not told yet; from now on it counts as told. */
  takeUnpushed(): readonly ProxyEntry[] {
    const entries = [
      ...entriesOf("service", this.#unpushedServices, this.#services),
      ...entriesOf("host", this.#unpushedHosts, this.#hosts),
    ];
    this.#forgetUnpushed(entries);
    return entries;
  }

  /** Everything there is; from now on it counts as told. */
  takeAll(): readonly ProxyEntry[] {
    const entries = [
      ...entriesOf("service", this.#services.keys(), this.#services),
      ...entriesOf("host", this.#hosts.keys(), this.#hosts),
    ];
    this.#forgetUnpushed(entries);
    return entries;
  }

  /** The push of these failed: they are to be told again, in their newest version. */
  giveBack(entries: Iterable<ProxyEntry>): void {
    for (const { kind, name, value, version } of entries) {
      const values = kind === "host" ? this.#hosts : this.#services;
      if (!values.has(name)) values.set(name, { text: value, version });
      if (kind === "service") this.#settled.delete(name);
      (kind === "host" ? this.#unpushedHosts : this.#unpushedServices).add(name);
    }
  }

  /** Removed names are remembered only until they are told. */
  #forgetUnpushed(entries: readonly ProxyEntry[]): void {
    this.#unpushedHosts = new Set();
    this.#unpushedServices = new Set();
    for (const { kind, name, value } of entries) {
      if (value === undefined) (kind === "host" ? this.#hosts : this.#services).delete(name);
    }
  }

  #applyHosts({ hosts }: RoutingDecision): void {
    for (const [name, rules] of hosts) {
      const plain = rules.map(({ path, type, service }) => ({ path, type, service }));
      this.#setHost(name, JSON.stringify(plain));
    }
    for (const name of this.#hosts.keys()) if (!hosts.has(name)) this.#setHost(name, undefined);
  }

  #applyService(
    key: string,
    endpoints: readonly DecidedEndpoint[] | undefined,
    version: number,
  ): void {
    const routed = endpoints === undefined ? undefined : routedEndpoints(endpoints);
    const released = this.#slotUsers.get(key) ?? [];
    // An address that another pod has got is another endpoint, with its own counters.
    const identities = (routed?.all ?? []).map(peerKey);
    const slots = identities.map((one) => this.slots.acquire(one));
    for (const one of released) this.slots.release(one);
    if (identities.length > 0) this.#slotUsers.set(key, identities);
    else this.#slotUsers.delete(key);
    const value: ServiceEndpoints | undefined = routed && {
      active: routed.active,
      addresses: routed.all.map(({ address }) => address),
      ports: routed.all.map(({ port }) => port),
      slots,
    };
    this.#setService(key, value && JSON.stringify(value), version);
  }

  #setHost(name: string, text: string | undefined): void {
    if (this.#hosts.get(name)?.text === text) return;
    this.#hosts.set(name, { text, version: 0 });
    this.#unpushedHosts.add(name);
  }

  #setService(name: string, text: string | undefined, version: number): void {
    const known = this.#services.get(name);
    if (known !== undefined || text !== undefined) this.#services.set(name, { text, version });
    if (known?.text !== text) this.#unpushedServices.add(name);
    if (this.#unpushedServices.has(name)) this.#settled.delete(name);
    else this.#settled.set(name, version);
  }
}

function* entriesOf(
  kind: ProxyEntry["kind"],
  names: Iterable<string>,
  values: ReadonlyMap<string, Value>,
): Iterable<ProxyEntry> {
  for (const name of names) {
    const value = values.get(name);
    if (value !== undefined) yield { kind, name, value: value.text, version: value.version };
  }
}

/** Those that may get requests, the ones for ordinary times first, each address and port once. */
function routedEndpoints(endpoints: readonly DecidedEndpoint[]): {
  readonly active: number;
  readonly all: readonly DecidedEndpoint[];
} {
  const byPeer = new Map<string, DecidedEndpoint>();
  const add = (endpoint: DecidedEndpoint): void => {
    const peer = `${endpoint.address} ${endpoint.port}`;
    if (!byPeer.has(peer)) byPeer.set(peer, endpoint);
  };
  for (const one of endpoints) if (isRouted(one)) add(one);
  const active = byPeer.size;
  for (const one of endpoints) if (one.state === "draining" || one.state === "suspect") add(one);
  return { active, all: [...byPeer.values()] };
}
