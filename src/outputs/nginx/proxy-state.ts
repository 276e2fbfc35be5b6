// The state that nginx should have: hosts with their rules, policies, services with their
// endpoints, certificates with their names, lists of users, and the entries that are not pushed
// yet. Values are kept as the pushed text, so a change without an effect on the text is no change.
// Entries that do not fit beside those of others are left out (decide/fair-share.ts). A host that
// is left out is pushed with a rule that refuses all requests; otherwise a wildcard with other
// rules would serve them. Invariant: an entry is unpushed exactly if its value, or whether it is
// left out, changed since it was last taken; and the policies are exactly those that some host
// refers to.

import {
  type ChangedRoutes,
  type DecisionChanges,
  type EndpointState,
  isRouted,
  type RoutingDecision,
} from "../../decide/decision.ts";
import { assertCostly } from "../../environment/assert.ts";
import { atOnce, mapInSteps, type Steps } from "../../environment/steps.ts";
import { endpointId } from "../../sources/endpoint-id.ts";
import {
  closedHost,
  EntryMemory,
  entryKinds,
  type LeftOutEntry,
  type MemoryUse,
  type Owned,
  ownedByNobody,
  type Standing,
} from "./entry-memory.ts";
import { type PushedHost, policyText, pushedInSteps, rulesText } from "./host-entry.ts";
import { decodedBytes, type MemoryCapacity, type MemoryName } from "./proxy-memory.ts";
import { pushRank } from "./push-parts.ts";
import { serviceEntry, tieredInSteps } from "./service-entry.ts";
import { SlotTable } from "./slot-table.ts";
import type { EndpointDetails } from "./snapshot-format.ts";
import { type EntryRef, type TakenEntries, UnpushedEntries } from "./unpushed-entries.ts";

export interface ProxyEntry {
  readonly kind: "host" | "policy" | "service" | "certificate" | "serverName" | "users";
  readonly name: string;
  /** JSON; undefined when it is to be removed. */
  readonly value: string | undefined;
  /** The version of the decision about a service; 0 for all others. */
  readonly version: number;
  /** It is wanted, but there is no room for it beside what others have. */
  readonly isLeftOut?: true;
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

export class ProxyState {
  readonly slots = new SlotTable();
  readonly #values: Readonly<Record<EntryKind, Map<string, Value>>> = {
    service: new Map(),
    certificate: new Map(),
    users: new Map(),
    policy: new Map(),
    host: new Map(),
    serverName: new Map(),
  };
  readonly #unpushed = new UnpushedEntries();
  readonly #memory: EntryMemory;
  /** By key of a policy, the hosts that refer to it. */
  readonly #policyHosts = new Map<string, Set<string>>();
  /** By host, the keys of the policies it refers to. */
  readonly #policiesOf = new Map<string, ReadonlySet<string>>();
  /** Endpoints of each service that hold a slot, by `endpointId`, in the order of its value. */
  readonly #slotUsers = new Map<string, readonly string[]>();
  /** The states of a service's endpoints, in the same order, where some are not routed to. */
  readonly #states = new Map<string, readonly EndpointState[]>();
  /** Of what was decided before and is still the same object: a change of one host is one text. */
  readonly #texts = new WeakMap<object, string>();
  /** Never a name that is unpushed: its push will tell the newest version. */
  #settled = new Map<string, number>();
  /** Since which decision an entry that was taken was not pushed. */
  readonly #since = new WeakMap<ProxyEntry, number>();
  #applied = 0;
  /** The numbers of decisions that are applied in part, the first one first. */
  readonly #underWay = new Set<number>();

  constructor(capacity?: MemoryCapacity) {
    this.#memory = new EntryMemory(capacity);
  }

  /** Takes over what changed. */
  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    atOnce(this.applying(decision, changes));
  }

  /**
   * The same in steps, between which others may be applied, but no other routes. After each step nothing
   * refers to what is not there, so some of it may be pushed before all of it is applied.
   */
  *applying(decision: RoutingDecision, changes: DecisionChanges): Steps<void> {
    this.#applied += 1;
    const own = this.#applied;
    this.#underWay.add(own);
    try {
      const changed = changes.routes ? (changes.routed ?? this.#allRoutes(decision)) : undefined;
      const services = new Set(changes.services.keys());
      const isThere = (key: string) => decision.services.has(key);
      const isKnown = (key: string) => this.#values.service.get(key)?.text !== undefined;
      for (const key of changed?.services ?? []) {
        if (isThere(key) !== isKnown(key)) services.add(key);
      }
      const apply = (key: string) => this.#applyService(key, decision, changes.services.get(key));
      yield* each(services, isThere, apply);
      if (changed !== undefined) yield* this.#applyRoutes(decision, changed);
      yield* each(services, (key) => !isThere(key), apply);
    } finally {
      this.#underWay.delete(own);
    }
    this.#settleMemory();
    this.#check();
  }

  get hasUnpushed(): boolean {
    return !this.#unpushed.isEmpty;
  }

  /** How many decisions were applied. */
  get applied(): number {
    return this.#applied;
  }

  /** Of how many of them, the first ones first, everything was taken to be pushed. */
  get taken(): number {
    const oldest = this.#unpushed.oldest ?? this.#applied + 1;
    return Math.min(oldest, this.#oldestUnderWay ?? oldest) - 1;
  }

  get #oldestUnderWay(): number | undefined {
    const [oldest] = this.#underWay;
    return oldest;
  }

  /** Entries that do not fit beside those of others. */
  leftOut(): readonly LeftOutEntry[] {
    return this.#memory.leftOut((ref) => this.#hostsOf(ref));
  }

  /** Rises whenever something else is left out than before. */
  get leftOutRevision(): number {
    return this.#memory.leftOutRevision;
  }

  #hostsOf({ kind, name }: EntryRef): readonly string[] {
    if (kind === "policy") return [...(this.#policyHosts.get(name) ?? [])];
    return kind === "host" ? [name] : [];
  }

  memoryUse(): readonly MemoryUse[] {
    return this.#memory.use();
  }

  /** nginx had no room for something that was to fit: from now on less is counted on. */
  countOnLess(memory: MemoryName): void {
    this.#memory.countOnLess(memory);
    this.#settleMemory();
  }

  /** It is another nginx, which has all the room there is. */
  countOnAll(): void {
    this.#memory.countOnAll();
    this.#settleMemory();
  }

  /** New versions that nginx already routes by. */
  takeSettled(): readonly SettledService[] {
    const settled = [...this.#settled].map(([name, version]) => ({ name, version }));
    this.#settled = new Map();
    return settled;
  }

  /** Some of what is not pushed yet, of each namespace; from now on it counts as pushed. */
  takeUnpushed(): readonly ProxyEntry[] {
    return this.#take(this.#unpushed.take((ref) => this.#entryOf(ref)));
  }

  /** The same of services alone that are to be there, which may go between the parts of a push. */
  takeUnpushedServices(mostBytes: number): readonly ProxyEntry[] {
    return this.#take(this.#unpushed.takeServices((ref) => this.#entryOf(ref), mostBytes));
  }

  #take(taken: TakenEntries): readonly ProxyEntry[] {
    for (const [entry, since] of taken) this.#since.set(entry, since);
    const entries = taken.map(([entry]) => entry);
    this.#forgetRemoved(entries);
    this.#check();
    return entries;
  }

  /** Everything there is; from now on it counts as pushed. */
  takeAll(): readonly ProxyEntry[] {
    const entries = this.#listAll();
    const oldest = this.#unpushed.oldest ?? this.#applied;
    for (const entry of entries) this.#since.set(entry, oldest);
    this.#unpushed.clear();
    this.#forgetRemoved(entries);
    return entries;
  }

  /** Everything nginx should know, pushed or not, as it is now, however late it is read. */
  present(): Iterable<ProxyEntry> {
    const values = entryKinds.map((kind) => [kind, [...this.#values[kind]]] as const);
    return presentOf(values, this.#memory.standingNow());
  }

  /** Of the endpoints of a service, in the order of its value, as they are now. */
  details(): (service: string) => EndpointDetails {
    const peers = new Map(this.#slotUsers);
    const states = new Map(this.#states);
    return (service) => ({
      uids: (peers.get(service) ?? []).map((peer) => peer.split(" ")[2] ?? ""),
      states: states.get(service),
    });
  }

  /** The push of these failed: they are to be pushed again, in their newest version. */
  giveBack(entries: Iterable<ProxyEntry>): void {
    for (const entry of entries) {
      const { kind, name, value, version } = entry;
      const values = this.#values[kind];
      if (!values.has(name)) values.set(name, { text: value, version });
      if (kind === "service") this.#settled.delete(name);
      this.#push(entry, this.#since.get(entry));
    }
  }

  /** These were left out of a push: those that are still wanted are to be pushed once more. */
  tellAgain(entries: Iterable<ProxyEntry>): void {
    for (const entry of entries) {
      if (this.#values[entry.kind].has(entry.name)) this.#push(entry, this.#since.get(entry));
    }
  }

  #listAll(): readonly ProxyEntry[] {
    return entryKinds.flatMap((kind) =>
      [...this.#values[kind].keys()].flatMap((name) => this.#entryOf({ kind, name }) ?? []),
    );
  }

  /** As it is pushed now. */
  #entryOf({ kind, name }: EntryRef): ProxyEntry | undefined {
    const known = this.#values[kind].get(name);
    return known && entryAs({ kind, name }, known, (ref) => this.#memory.standing(ref));
  }

  /** Removed names are remembered only until they are pushed. */
  #forgetRemoved(entries: readonly ProxyEntry[]): void {
    for (const { kind, name } of entries) {
      if (this.#values[kind].get(name)?.text !== undefined) continue;
      this.#values[kind].delete(name);
      this.#memory.forget({ kind, name });
    }
  }

  #push({ kind, name }: EntryRef, since = this.#oldestUnderWay ?? this.#applied): void {
    const entry = this.#entryOf({ kind, name });
    if (entry === undefined) return;
    const namespace = this.#memory.namespaceOf({ kind, name });
    this.#unpushed.add({ kind, name }, namespace, since, pushRank(entry));
  }

  #check(): void {
    const { size } = this.#policiesOf;
    assertCostly(() => this.#arePoliciesExact(), "policies are those that hosts refer to", size);
    assertCostly(
      () => this.#areSettledPushed(),
      "a settled service waits for no push",
      this.#settled.size,
    );
  }

  #arePoliciesExact(): boolean {
    const there = [...this.#values.policy].filter(([, { text }]) => text !== undefined);
    const referred = [...this.#policyHosts].flatMap(([key, hosts]) =>
      [...hosts].map((host) => this.#policiesOf.get(host)?.has(key) === true),
    );
    const references = [...this.#policiesOf.values()].reduce((sum, { size }) => sum + size, 0);
    return (
      there.length === this.#policyHosts.size &&
      there.every(([key]) => (this.#policyHosts.get(key)?.size ?? 0) > 0) &&
      referred.length === references &&
      referred.every(Boolean)
    );
  }

  #areSettledPushed(): boolean {
    return [...this.#settled.keys()].every((name) => {
      const ref: EntryRef = { kind: "service", name };
      return !this.#unpushed.has(ref, this.#memory.namespaceOf(ref));
    });
  }

  #settleMemory(): void {
    for (const ref of this.#memory.settle()) this.#push(ref);
  }

  /** Routes of this decision and those known from an earlier one. */
  #allRoutes(decision: RoutingDecision): ChangedRoutes {
    const { hosts, services, certificates, serverNames, users } = decision;
    const either = (kind: EntryKind, decided: ReadonlyMap<string, unknown> | undefined) =>
      new Set([...(decided?.keys() ?? []), ...this.#values[kind].keys()]);
    return {
      hosts: either("host", hosts),
      certificates: either("certificate", certificates),
      serverNames: either("serverName", serverNames),
      users: either("users", users),
      services: either("service", services),
    };
  }

  /** Adds an entry before its references, and removes it after them. */
  *#applyRoutes(decision: RoutingDecision, changed: ChangedRoutes): Steps<void> {
    const { hosts, certificates, serverNames, users, sameAs } = decision;
    const has = (map: ReadonlyMap<string, unknown> | undefined) => (name: string) =>
      map?.has(name) === true;
    const hasNot = (map: ReadonlyMap<string, unknown> | undefined) => (name: string) =>
      map?.has(name) !== true;
    const isAlias = (host: string) => hosts.has(host) && has(sameAs)(host);
    const isOwn = (host: string) => hosts.has(host) && !has(sameAs)(host);
    const applyCertificate = (name: string) => this.#applyCertificate(name, decision);
    const applyUsers = (name: string) => this.#applyUsers(name, decision);
    const applyHost = (host: string) => this.#applyHost(host, decision);
    const applyServerName = (name: string) => this.#applyServerName(name, decision);
    yield* each(changed.certificates, has(certificates), applyCertificate);
    yield* each(changed.users, has(users), applyUsers);
    yield* each(changed.hosts, isOwn, applyHost);
    yield* each(changed.hosts, isAlias, applyHost);
    yield* each(changed.serverNames, has(serverNames), applyServerName);
    yield* each(changed.serverNames, hasNot(serverNames), applyServerName);
    yield* each(changed.hosts, hasNot(hosts), applyHost);
    yield* each(changed.users, hasNot(users), applyUsers);
    yield* each(changed.certificates, hasNot(certificates), applyCertificate);
  }

  #applyCertificate(name: string, { certificates }: RoutingDecision): void {
    const text = this.#textOf(certificates?.get(name), ({ chain, key }) => ({ chain, key }));
    this.#set("certificate", name, text);
  }

  #applyUsers(name: string, { users }: RoutingDecision): void {
    const text = this.#textOf(users?.get(name), (list) => list);
    this.#set("users", name, text);
  }

  #applyServerName(name: string, { serverNames }: RoutingDecision): void {
    const certificate = serverNames?.get(name);
    // An empty one stands for no certificate, where another name's would be shown.
    const namespace = certificate?.slice(0, Math.max(0, certificate.indexOf("/")));
    const owned = namespace === undefined ? undefined : { ...ownedByNobody, namespace };
    const text = certificate === undefined ? undefined : JSON.stringify(certificate);
    this.#set("serverName", name, text, owned);
  }

  *#applyHost(host: string, { hosts, sameAs, owners }: RoutingDecision): Steps<void> {
    const rules = hosts.get(host);
    const owner = { ...ownedByNobody, ...owners?.get(host) };
    const same = sameAs?.get(host);
    if (rules === undefined || same !== undefined) {
      this.#refer(host, noPolicies);
      this.#set("host", host, rules && JSON.stringify(same), rules && owner);
      return;
    }
    const pushed = yield* pushedInSteps(rules, owner.namespace);
    const text = yield* rulesText(pushed.rules);
    const owned = { ...owner, decodedBytes: decodedBytes(pushed.rules) };
    // Both in one step: a policy is gone only when no host refers to it.
    this.#refer(host, pushed.policies);
    this.#set("host", host, text, owned);
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

  /**
   * In steps, of which the last one counts. `decidedVersion` may be behind: a service is decided again
   * while routes are applied.
   */
  *#applyService(key: string, { services }: RoutingDecision, decidedVersion = 0): Steps<void> {
    const endpoints = services.get(key);
    const routed = endpoints && (yield* tieredInSteps(endpoints));
    const peers = routed?.endpoints ?? [];
    // An address that another pod has got is another endpoint, with its own counters.
    const identities = yield* mapInSteps(peers, endpointId);
    const namespace = this.#memory.namespaceOf({ kind: "service", name: key });
    const slots: number[] = [];
    yield* mapInSteps(peers, ({ cluster }) => {
      const identity = identities[slots.length] ?? "";
      slots.push(this.slots.acquire(identity, { cluster, namespace }));
    });
    const value = routed && serviceEntry(key, routed, slots);
    yield;
    const text = value && JSON.stringify(value);
    yield;
    // Meanwhile it was decided again, or its last route has gone: that is applied for itself.
    const isOvertaken = services.get(key) !== endpoints;
    const released = isOvertaken ? identities : (this.#slotUsers.get(key) ?? []);
    if (!isOvertaken) {
      if (identities.length > 0) this.#slotUsers.set(key, identities);
      else this.#slotUsers.delete(key);
      if (peers.every(isRouted)) this.#states.delete(key);
      else
        this.#states.set(
          key,
          peers.map(({ state }) => state),
        );
      const version = Math.max(decidedVersion, this.#values.service.get(key)?.version ?? 0);
      this.#setService(key, text, version);
    }
    yield* mapInSteps(released, (one) => this.slots.release(one));
  }

  #set(kind: EntryKind, name: string, text: string | undefined, owned?: Owned): void {
    const values = this.#values[kind];
    const isSame = values.get(name)?.text === text;
    // The same text may be that of an older object, or of another namespace.
    if (isSame && owned === undefined) return;
    values.set(name, { text, version: 0 });
    this.#memory.charge({ kind, name }, text, owned);
    if (!isSame) this.#push({ kind, name });
  }

  #setService(name: string, text: string | undefined, version: number): void {
    const ref: EntryRef = { kind: "service", name };
    const values = this.#values.service;
    const known = values.get(name);
    if (known !== undefined || text !== undefined) values.set(name, { text, version });
    if (known?.text !== text) {
      this.#memory.charge(ref, text, undefined);
      this.#push(ref);
    }
    if (this.#unpushed.has(ref, this.#memory.namespaceOf(ref))) this.#settled.delete(name);
    else this.#settled.set(name, version);
  }
}

const noPolicies: PushedHost["policies"] = new Map();

/** As it is pushed. */
function entryAs(
  { kind, name }: EntryRef,
  { text, version }: Value,
  standingOf: (ref: EntryRef) => Standing,
): ProxyEntry {
  if (text === undefined) return { kind, name, value: undefined, version };
  const standing = standingOf({ kind, name });
  if (standing === "kept") return { kind, name, value: text, version };
  const value = standing === "closed" ? closedHost : undefined;
  return { kind, name, value, version, isLeftOut: true };
}

function* presentOf(
  values: readonly (readonly [EntryKind, readonly (readonly [string, Value])[]])[],
  standingOf: (ref: EntryRef) => Standing,
): Iterable<ProxyEntry> {
  for (const [kind, ofKind] of values) {
    for (const [name, value] of ofKind) {
      const entry = entryAs({ kind, name }, value, standingOf);
      if (entry.value !== undefined) yield entry;
    }
  }
}

/** Applies those that are meant, each in a step. */
function* each(
  names: ReadonlySet<string>,
  isMeant: (name: string) => boolean,
  apply: (name: string) => Steps<void> | void,
): Steps<void> {
  for (const name of names) {
    if (!isMeant(name)) continue;
    const steps = apply(name);
    if (steps !== undefined) yield* steps;
    yield;
  }
}
