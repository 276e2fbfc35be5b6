// What nginx should know: hosts with their rules, policies, services with their endpoints, certificates
// and the names they are for, lists of users, and which of them were not pushed yet. Values are kept as
// the text that is pushed, so a change that makes no difference there is none. What does not fit beside
// what others have is left out (decide/fair-share.ts); a host that is, is pushed as one whose requests
// are all refused, lest they fall to a wildcard with other rules.
// Invariant: an entry is among the unpushed exactly when its value, or whether it is left out, changed
// since it was last taken; and there are exactly the policies that some host refers to.

import {
  type ChangedRoutes,
  type DecidedEndpoint,
  type DecisionChanges,
  type EndpointState,
  isRouted,
  type RoutingDecision,
} from "../../decide/decision.ts";
import type { FairShare } from "../../decide/fair-share.ts";
import { endpointId as peerKey } from "../../sources/endpoint-id.ts";
import { type PushedHost, policyText, pushedHost } from "./host-entry.ts";
import {
  decodedBytes,
  type MemoryCapacity,
  type MemoryName,
  newMemory,
  storedBytes,
  usualCapacity,
} from "./proxy-memory.ts";
import { serviceEntry, tieredEndpoints } from "./service-entry.ts";
import { SlotTable } from "./slot-table.ts";
import { type EntryRef, UnpushedEntries } from "./unpushed-entries.ts";

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

/** What there is no room for. */
export interface LeftOutEntry {
  readonly kind: EntryKind;
  readonly name: string;
  readonly namespace: string;
  /** Of a host itself, of a policy those that refer to it; of others none. */
  readonly hosts: readonly string[];
}

/** How much of one memory is used. */
export interface MemoryUse {
  readonly memory: MemoryName;
  readonly usedBytes: number;
  readonly capacityBytes: number;
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

/** Whose an entry is, where its name does not say it. */
interface Owned {
  readonly namespace: string;
  readonly createdAtMs: number;
  /** In each worker. */
  readonly decodedBytes: number;
}

/** In place of the rules of a host that is left out. */
const closedHost = "false";

/** When nginx has less room than was counted on, so much of what is counted on remains. */
const roomKept = 0.75;

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
  readonly #capacity: MemoryCapacity;
  readonly #memory: Readonly<Record<MemoryName, FairShare>>;
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

  /** By id, whose an entry is, of the kinds whose names do not say it. */
  readonly #namespaces = new Map<string, string>();
  /** Since which decision an entry that was taken was not pushed. */
  readonly #since = new WeakMap<ProxyEntry, number>();
  #applied = 0;
  /** Rises whenever something else is left out than before. */
  leftOutRevision = 0;

  constructor(capacity: MemoryCapacity = usualCapacity) {
    this.#capacity = capacity;
    this.#memory = {
      routes: newMemory(capacity.routes),
      certificates: newMemory(capacity.certificates),
    };
  }

  /** Takes over what changed. */
  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    this.#applied += 1;
    const services = new Set(changes.services.keys());
    const known = this.#values.service;
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
    this.#settleMemory();
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
    return (this.#unpushed.oldest ?? this.#applied + 1) - 1;
  }

  /** What there is no room for beside what others have. */
  leftOut(): readonly LeftOutEntry[] {
    return Object.values(this.#memory).flatMap((memory) =>
      memory.leftOut().flatMap(({ namespace, keys }) => {
        const refs = new Map(keys.map(refOf).map((ref) => [idOf(ref), ref]));
        return [...refs.values()].map((ref) => ({ ...ref, namespace, hosts: this.#hostsOf(ref) }));
      }),
    );
  }

  #hostsOf({ kind, name }: EntryRef): readonly string[] {
    if (kind === "policy") return [...(this.#policyHosts.get(name) ?? [])];
    return kind === "host" ? [name] : [];
  }

  memoryUse(): readonly MemoryUse[] {
    return memoryNames.map((memory) => {
      const { usedBytes, capacityBytes } = this.#memory[memory];
      return { memory, usedBytes, capacityBytes };
    });
  }

  /** nginx had no room for something that was to fit: from now on less is counted on. */
  countOnLess(memory: MemoryName): void {
    const share = this.#memory[memory];
    share.setCapacity(Math.min(share.capacityBytes, share.usedBytes) * roomKept);
    this.#settleMemory();
  }

  /** It is another nginx, which has all the room there is. */
  countOnAll(): void {
    for (const memory of memoryNames) this.#memory[memory].setCapacity(this.#capacity[memory]);
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
    const taken = this.#unpushed.take((ref) => this.#entryOf(ref));
    for (const [entry, since] of taken) this.#since.set(entry, since);
    const entries = taken.map(([entry]) => entry);
    this.#forgetRemoved(entries);
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

  /** Everything nginx should know, pushed or not. */
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
    if (known === undefined) return undefined;
    const { text, version } = known;
    const memory = this.#memoryOf(kind);
    if (text === undefined) return { kind, name, value: undefined, version };
    if (memory.isLeftOut(idOf({ kind, name }))) {
      return { kind, name, value: undefined, version, isLeftOut: true };
    }
    const isClosed = kind === "host" && memory.isLeftOut(rulesIdOf(name));
    if (isClosed) return { kind, name, value: closedHost, version, isLeftOut: true };
    return { kind, name, value: text, version };
  }

  /** Removed names are remembered only until they are pushed. */
  #forgetRemoved(entries: readonly ProxyEntry[]): void {
    for (const { kind, name } of entries) {
      if (this.#values[kind].get(name)?.text !== undefined) continue;
      this.#values[kind].delete(name);
      this.#namespaces.delete(idOf({ kind, name }));
    }
  }

  #push({ kind, name }: EntryRef, since = this.#applied): void {
    this.#unpushed.add({ kind, name }, this.#namespaceOf({ kind, name }), since);
  }

  #namespaceOf(ref: EntryRef): string {
    const { name } = ref;
    return this.#namespaces.get(idOf(ref)) ?? name.slice(0, Math.max(0, name.indexOf("/")));
  }

  #memoryOf(kind: EntryKind): FairShare {
    return this.#memory[kind === "certificate" ? "certificates" : "routes"];
  }

  #settleMemory(): void {
    for (const memory of Object.values(this.#memory)) {
      const changed = memory.settle();
      if (changed.length > 0) this.leftOutRevision += 1;
      for (const key of changed) this.#push(refOf(key));
    }
  }

  #charge(ref: EntryRef, text: string | undefined, owned: Owned | undefined): void {
    const memory = this.#memoryOf(ref.kind);
    const id = idOf(ref);
    if (owned !== undefined) this.#namespaces.set(id, owned.namespace);
    const namespace = this.#namespaceOf(ref);
    const { createdAtMs = 0 } = owned ?? {};
    const bytes = text === undefined ? 0 : storedBytes(ref.name, text);
    if (ref.kind !== "host") {
      memory.charge(id, text === undefined ? undefined : { namespace, bytes, createdAtMs });
      return;
    }
    // A host that is left out is closed, so its name and its rules count by themselves.
    const ownBytes = storedBytes(ref.name, closedHost);
    const rulesBytes = bytes - ownBytes + (owned?.decodedBytes ?? 0);
    const isThere = text !== undefined;
    memory.charge(id, isThere ? { namespace, bytes: ownBytes, createdAtMs } : undefined);
    const hasRules = isThere && rulesBytes > 0;
    memory.charge(
      rulesIdOf(ref.name),
      hasRules ? { namespace, bytes: rulesBytes, createdAtMs } : undefined,
    );
  }

  /** What a decision has and what is known of an earlier one. */
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

  #applyRoutes(decision: RoutingDecision, changed: ChangedRoutes): void {
    const { certificates, serverNames, users } = decision;
    for (const host of changed.hosts) this.#applyHost(host, decision);
    for (const name of changed.certificates) {
      const text = this.#textOf(certificates?.get(name), ({ chain, key }) => ({ chain, key }));
      this.#set("certificate", name, text);
    }
    for (const name of changed.serverNames) {
      const certificate = serverNames?.get(name);
      // An empty one stands for no certificate, where another name's would be shown.
      const namespace = certificate?.slice(0, Math.max(0, certificate.indexOf("/")));
      const owned = namespace === undefined ? undefined : { ...ownedByNobody, namespace };
      const text = certificate === undefined ? undefined : JSON.stringify(certificate);
      this.#set("serverName", name, text, owned);
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
    const owner = { ...ownedByNobody, ...owners?.get(host) };
    const same = sameAs?.get(host);
    if (rules === undefined || same !== undefined) {
      this.#refer(host, noPolicies);
      this.#set("host", host, rules && JSON.stringify(same), rules && owner);
      return;
    }
    const pushed = pushedHost(rules, owner.namespace);
    this.#refer(host, pushed.policies);
    const owned = { ...owner, decodedBytes: decodedBytes(pushed.rules) };
    this.#set("host", host, JSON.stringify(pushed.rules), owned);
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
    const namespace = this.#namespaceOf({ kind: "service", name: key });
    const slots = (routed?.endpoints ?? []).map((one) =>
      this.slots.acquire(peerKey(one), { cluster: one.cluster, namespace }),
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

  #set(kind: EntryKind, name: string, text: string | undefined, owned?: Owned): void {
    const values = this.#values[kind];
    const isSame = values.get(name)?.text === text;
    // The same text may be that of an older object, or of another namespace.
    if (isSame && owned === undefined) return;
    values.set(name, { text, version: 0 });
    this.#charge({ kind, name }, text, owned);
    if (!isSame) this.#push({ kind, name });
  }

  #setService(name: string, text: string | undefined, version: number): void {
    const ref: EntryRef = { kind: "service", name };
    const values = this.#values.service;
    const known = values.get(name);
    if (known !== undefined || text !== undefined) values.set(name, { text, version });
    if (known?.text !== text) {
      this.#charge(ref, text, undefined);
      this.#push(ref);
    }
    if (this.#unpushed.has(ref, this.#namespaceOf(ref))) this.#settled.delete(name);
    else this.#settled.set(name, version);
  }
}

const noPolicies: PushedHost["policies"] = new Map();

const ownedByNobody: Owned = { namespace: "", createdAtMs: 0, decodedBytes: 0 };

const memoryNames = ["routes", "certificates"] as const;

const entryKinds: readonly EntryKind[] = [
  "service",
  "certificate",
  "users",
  "policy",
  "host",
  "serverName",
];

function idOf({ kind, name }: EntryRef): string {
  return `${kind} ${name}`;
}

/** Of the rules of a host, beside its name. */
function rulesIdOf(host: string): string {
  return `rules ${host}`;
}

/** The entry that an id is of. */
function refOf(id: string): EntryRef {
  const space = id.indexOf(" ");
  const name = id.slice(space + 1);
  const kind = entryKinds.find((one) => one === id.slice(0, space)) ?? "host";
  return { kind, name };
}
