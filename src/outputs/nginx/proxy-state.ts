// What nginx should know: hosts with their rules, policies, services with their endpoints, certificates
// and the names they are for, lists of users, and which of them were not pushed yet. Values are kept as
// the text that is pushed, so a change that makes no difference there is none.
// Invariant: a name is among the unpushed exactly when its value changed since it was last taken; and
// there are exactly the policies that some host refers to.

import {
  type ChangedRoutes,
  type DecidedEndpoint,
  type DecisionChanges,
  type EndpointState,
  isRouted,
  type RoutingDecision,
} from "../../decide/decision.ts";
import { peerKey } from "../../sources/proxy-feedback.ts";
import { type PushedHost, policyText, pushedHost } from "./host-entry.ts";
import { serviceEntry, tieredEndpoints } from "./service-entry.ts";
import { SlotTable } from "./slot-table.ts";

export interface ProxyEntry {
  readonly kind: "host" | "policy" | "service" | "certificate" | "serverName" | "users";
  readonly name: string;
  /** JSON; undefined when it is to be removed. */
  readonly value: string | undefined;
  /** The version of the decision about a service; 0 for all others. */
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

type EntryKind = ProxyEntry["kind"];

/** All entries of one kind. */
interface Entries {
  readonly values: Map<string, Value>;
  readonly unpushed: Set<string>;
}

export class ProxyState {
  readonly slots = new SlotTable();
  readonly #entries: Readonly<Record<EntryKind, Entries>> = {
    service: { values: new Map(), unpushed: new Set() },
    certificate: { values: new Map(), unpushed: new Set() },
    host: { values: new Map(), unpushed: new Set() },
    serverName: { values: new Map(), unpushed: new Set() },
    users: { values: new Map(), unpushed: new Set() },
    policy: { values: new Map(), unpushed: new Set() },
  };
  /** By key of a policy, the hosts that refer to it. */
  readonly #policyHosts = new Map<string, Set<string>>();
  /** By host, the keys of the policies it refers to. */
  readonly #policiesOf = new Map<string, ReadonlySet<string>>();
  /** Endpoints of each service that hold a slot, by `peerKey`, in the order of its value. */
  readonly #slotUsers = new Map<string, readonly string[]>();
  /** The states of a service's endpoints, in the same order, where some are not routed to. */
  readonly #states = new Map<string, readonly EndpointState[]>();
  /** Of what was decided before and is still the same object: a change of one host is one text. */
  readonly #texts = new WeakMap<object, string>();
  /** Never a name that is unpushed: its push will tell the newest version. */
  #settled = new Map<string, number>();

  /** Takes over what changed. */
  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    const services = new Set(changes.services.keys());
    const known = this.#entries.service.values;
    if (changes.routes) {
      const changed = changes.routed ?? this.#allRoutes(decision);
      this.#applyRoutes(decision, changed);
      for (const key of changed.services) {
        const isKnown = known.get(key)?.text !== undefined;
        if (decision.services.has(key) !== isKnown) services.add(key);
      }
    }
    for (const key of services) {
      const version = changes.services.get(key) ?? known.get(key)?.version ?? 0;
      this.#applyService(key, decision.services.get(key), version);
    }
  }

  get hasUnpushed(): boolean {
    return Object.values(this.#entries).some(({ unpushed }) => unpushed.size > 0);
  }

  /** New versions that nginx already routes by. */
  takeSettled(): readonly SettledService[] {
    const settled = [...this.#settled].map(([name, version]) => ({ name, version }));
    this.#settled = new Map();
    return settled;
  }

  /** What nginx was not told yet; from now on it counts as told. */
  takeUnpushed(): readonly ProxyEntry[] {
    const entries = entryKinds.flatMap((kind) => this.#list(kind, this.#entries[kind].unpushed));
    this.#forgetUnpushed(entries);
    return entries;
  }

  /** Everything there is; from now on it counts as told. */
  takeAll(): readonly ProxyEntry[] {
    const entries = this.#listAll();
    this.#forgetUnpushed(entries);
    return entries;
  }

  /** Everything nginx should know, told or not. */
  present(): readonly ProxyEntry[] {
    return this.#listAll().filter(({ value }) => value !== undefined);
  }

  /** The `peerKey` of each endpoint of a service, in the order of its value. */
  peersOf(service: string): readonly string[] {
    return this.#slotUsers.get(service) ?? [];
  }

  /** Their states, in the same order; undefined when all of them are routed to. */
  statesOf(service: string): readonly EndpointState[] | undefined {
    return this.#states.get(service);
  }

  /** The push of these failed: they are to be told again, in their newest version. */
  giveBack(entries: Iterable<ProxyEntry>): void {
    for (const { kind, name, value, version } of entries) {
      const { values, unpushed } = this.#entries[kind];
      if (!values.has(name)) values.set(name, { text: value, version });
      if (kind === "service") this.#settled.delete(name);
      unpushed.add(name);
    }
  }

  /** These were left out of a push: those that are still wanted are to be told once more. */
  tellAgain(entries: Iterable<ProxyEntry>): void {
    for (const { kind, name } of entries) {
      const { values, unpushed } = this.#entries[kind];
      if (values.has(name)) unpushed.add(name);
    }
  }

  #listAll(): readonly ProxyEntry[] {
    return entryKinds.flatMap((kind) => this.#list(kind, this.#entries[kind].values.keys()));
  }

  #list(kind: EntryKind, names: Iterable<string>): readonly ProxyEntry[] {
    const { values } = this.#entries[kind];
    return [...names].flatMap((name) => {
      const value = values.get(name);
      return value === undefined ? [] : [{ kind, name, value: value.text, version: value.version }];
    });
  }

  /** Removed names are remembered only until they are told. */
  #forgetUnpushed(entries: readonly ProxyEntry[]): void {
    for (const { unpushed } of Object.values(this.#entries)) unpushed.clear();
    for (const { kind, name, value } of entries) {
      if (value === undefined) this.#entries[kind].values.delete(name);
    }
  }

  /** What a decision has and what is known of an earlier one. */
  #allRoutes(decision: RoutingDecision): ChangedRoutes {
    const { hosts, services, certificates, serverNames, users } = decision;
    const either = (kind: EntryKind, decided: ReadonlyMap<string, unknown> | undefined) =>
      new Set([...(decided?.keys() ?? []), ...this.#entries[kind].values.keys()]);
    return {
      hosts: either("host", hosts),
      certificates: either("certificate", certificates),
      serverNames: either("serverName", serverNames),
      users: either("users", users),
      services: either("service", services),
    };
  }

  #applyRoutes(decision: RoutingDecision, changed: ChangedRoutes): void {
    const { certificates, serverNames, users } = decision;
    for (const host of changed.hosts) this.#applyHost(host, decision);
    for (const name of changed.certificates) {
      const text = this.#textOf(certificates?.get(name), ({ chain, key }) => ({ chain, key }));
      this.#set("certificate", name, text);
    }
    for (const name of changed.serverNames) {
      const certificate = serverNames?.get(name);
      this.#set("serverName", name, certificate && JSON.stringify(certificate));
    }
    for (const name of changed.users) {
      this.#set(
        "users",
        name,
        this.#textOf(users?.get(name), (list) => list),
      );
    }
  }

  #applyHost(host: string, { hosts, sameAs, owners }: RoutingDecision): void {
    const rules = hosts.get(host);
    const same = rules === undefined ? undefined : sameAs?.get(host);
    if (rules === undefined || same !== undefined) {
      this.#refer(host, noPolicies);
      this.#set("host", host, same && JSON.stringify(same));
      return;
    }
    const pushed = pushedHost(rules, owners?.get(host)?.namespace ?? "");
    this.#refer(host, pushed.policies);
    this.#set("host", host, JSON.stringify(pushed.rules));
  }

  /** The host refers to these policies from now on, and to no others. */
  #refer(host: string, policies: PushedHost["policies"]): void {
    const before = this.#policiesOf.get(host) ?? new Set();
    for (const [key, policy] of policies) {
      const hosts = this.#policyHosts.get(key);
      if (hosts === undefined) this.#set("policy", key, policyText(policy));
      this.#policyHosts.set(key, (hosts ?? new Set()).add(host));
    }
    for (const key of before) {
      const hosts = policies.has(key) ? undefined : this.#policyHosts.get(key);
      hosts?.delete(host);
      if (hosts?.size !== 0) continue;
      this.#policyHosts.delete(key);
      this.#set("policy", key, undefined);
    }
    if (policies.size === 0) this.#policiesOf.delete(host);
    else this.#policiesOf.set(host, new Set(policies.keys()));
  }

  /** In the form in which it is pushed; undefined for what is not there. */
  #textOf<Decided extends object>(
    decided: Decided | undefined,
    pushed: (decided: Decided) => unknown,
  ): string | undefined {
    if (decided === undefined) return undefined;
    const text = this.#texts.get(decided) ?? JSON.stringify(pushed(decided));
    this.#texts.set(decided, text);
    return text;
  }

  #applyService(
    key: string,
    endpoints: readonly DecidedEndpoint[] | undefined,
    version: number,
  ): void {
    const routed = endpoints === undefined ? undefined : tieredEndpoints(endpoints);
    const released = this.#slotUsers.get(key) ?? [];
    // An address that another pod has got is another endpoint, with its own counters.
    const identities = (routed?.endpoints ?? []).map(peerKey);
    const slots = (routed?.endpoints ?? []).map((one) =>
      this.slots.acquire(peerKey(one), one.cluster),
    );
    for (const one of released) this.slots.release(one);
    if (identities.length > 0) this.#slotUsers.set(key, identities);
    else this.#slotUsers.delete(key);
    if (routed === undefined || routed.endpoints.every(isRouted)) this.#states.delete(key);
    else
      this.#states.set(
        key,
        routed.endpoints.map(({ state }) => state),
      );
    const value = routed && serviceEntry(key, routed, slots);
    this.#setService(key, value && JSON.stringify(value), version);
  }

  #set(kind: EntryKind, name: string, text: string | undefined): void {
    const { values, unpushed } = this.#entries[kind];
    if (values.get(name)?.text === text) return;
    values.set(name, { text, version: 0 });
    unpushed.add(name);
  }

  #setService(name: string, text: string | undefined, version: number): void {
    const { values, unpushed } = this.#entries.service;
    const known = values.get(name);
    if (known !== undefined || text !== undefined) values.set(name, { text, version });
    if (known?.text !== text) unpushed.add(name);
    if (unpushed.has(name)) this.#settled.delete(name);
    else this.#settled.set(name, version);
  }
}

const noPolicies: PushedHost["policies"] = new Map();

const entryKinds: readonly EntryKind[] = [
  "service",
  "certificate",
  "users",
  "policy",
  "host",
  "serverName",
];
