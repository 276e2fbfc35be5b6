// The namespace and the memory use of each entry, and the entries that do not fit beside those of
// others (decide/fair-share.ts).
import type { FairShare } from "../../decide/fair-share.ts";
import {
  type MemoryCapacity,
  type MemoryName,
  newMemory,
  storedBytes,
  usualCapacity,
} from "./proxy-memory.ts";
import type { ProxyEntry } from "./proxy-state.ts";
import type { EntryRef } from "./unpushed-entries.ts";

/** An entry that does not fit. */
export interface LeftOutEntry {
  readonly kind: ProxyEntry["kind"];
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

/** The namespace of an entry whose name does not contain it. */
export interface Owned {
  readonly namespace: string;
  readonly createdAtMs: number;
  /** In each worker. */
  readonly decodedBytes: number;
}

/** Whether there is no room for an entry, or of a host only for its name. */
export type Standing = "kept" | "closed" | "out";

export const ownedByNobody: Owned = { namespace: "", createdAtMs: 0, decodedBytes: 0 };

/** In place of the rules of a host that is left out. */
export const closedHost = "false";

/** When nginx has less room than was counted on, so much of what is counted on remains. */
const roomKept = 0.75;

const memoryNames = ["routes", "certificates"] as const;

export const entryKinds: readonly ProxyEntry["kind"][] = [
  "service",
  "certificate",
  "users",
  "policy",
  "host",
  "serverName",
];

export class EntryMemory {
  readonly #capacity: MemoryCapacity;
  readonly #memory: Readonly<Record<MemoryName, FairShare>>;
  /** By id, whose an entry is, of the kinds whose names do not say it. */
  readonly #namespaces = new Map<string, string>();
  /** Rises whenever something else is left out than before. */
  leftOutRevision = 0;

  constructor(capacity: MemoryCapacity = usualCapacity) {
    this.#capacity = capacity;
    this.#memory = {
      routes: newMemory(capacity.routes),
      certificates: newMemory(capacity.certificates),
    };
  }

  namespaceOf(ref: EntryRef): string {
    const { name } = ref;
    return this.#namespaces.get(idOf(ref)) ?? name.slice(0, Math.max(0, name.indexOf("/")));
  }

  /** The entry is gone from nginx. */
  forget(ref: EntryRef): void {
    this.#namespaces.delete(idOf(ref));
  }

  /** An entry takes this from now on; undefined when it is to be removed. */
  charge(ref: EntryRef, text: string | undefined, owned: Owned | undefined): void {
    const memory = this.#memoryOf(ref);
    const id = idOf(ref);
    if (owned !== undefined) this.#namespaces.set(id, owned.namespace);
    const namespace = this.namespaceOf(ref);
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

  /**
   * Decides again which entries are left out; returns the entries whose answer may have changed.
   */
  settle(): readonly EntryRef[] {
    return memoryNames.flatMap((name) => {
      const changed = this.#memory[name].settle();
      if (changed.length > 0) this.leftOutRevision += 1;
      return changed.map(refOf);
    });
  }

  standing(ref: EntryRef): Standing {
    const memory = this.#memoryOf(ref);
    return standingOf(ref, (id) => memory.isLeftOut(id));
  }

  /** As `standing` is now, whatever changes later. */
  standingNow(): (ref: EntryRef) => Standing {
    const all = memoryNames.flatMap((memory) => this.#memory[memory].leftOut());
    const out = new Set(all.flatMap(({ keys }) => keys));
    return out.size === 0 ? () => "kept" : (ref) => standingOf(ref, (id) => out.has(id));
  }

  leftOut(hostsOf: (ref: EntryRef) => readonly string[]): readonly LeftOutEntry[] {
    return memoryNames.flatMap((memory) =>
      this.#memory[memory].leftOut().flatMap(({ namespace, keys }) => {
        const refs = new Map(keys.map(refOf).map((ref) => [idOf(ref), ref]));
        return [...refs.values()].map((ref) => ({ ...ref, namespace, hosts: hostsOf(ref) }));
      }),
    );
  }

  use(): readonly MemoryUse[] {
    return memoryNames.map((memory) => {
      const { usedBytes, capacityBytes } = this.#memory[memory];
      return { memory, usedBytes, capacityBytes };
    });
  }

  /** nginx had no room for something that was to fit: from the next `settle` on less is counted on. */
  countOnLess(memory: MemoryName): void {
    const share = this.#memory[memory];
    share.setCapacity(Math.min(share.capacityBytes, share.usedBytes) * roomKept);
  }

  /** It is another nginx, which has all the room there is. */
  countOnAll(): void {
    for (const memory of memoryNames) this.#memory[memory].setCapacity(this.#capacity[memory]);
  }

  #memoryOf({ kind }: EntryRef): FairShare {
    return this.#memory[kind === "certificate" ? "certificates" : "routes"];
  }
}

function standingOf(ref: EntryRef, isLeftOut: (id: string) => boolean): Standing {
  if (isLeftOut(idOf(ref))) return "out";
  return ref.kind === "host" && isLeftOut(rulesIdOf(ref.name)) ? "closed" : "kept";
}

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
