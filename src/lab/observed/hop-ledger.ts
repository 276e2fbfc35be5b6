// When each endpoint of one service really joined and left at each hop, noted where it happens: at
// `pod` and `published` as the storage commits an object, at `routed` as a proxy takes its endpoints,
// by its own word and, of a stock nginx, by its own clock.
// Only those who judge an observer may read it. It knows nothing of watches, and no address of the
// service is ever had by two pods at once. Bounded by the changes of one play.

import type { StorageEvent } from "../../apiserver/storage/storage.ts";
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { Direction, Hop } from "../../timeline/witness.ts";
import { podAddress, publishedAddresses } from "./stored-addresses.ts";

export interface HopChange {
  readonly hop: Hop;
  /** As the observer names it: the cluster, or the replica. */
  readonly witness: string;
  readonly address: string;
  readonly direction: Direction;
  readonly at: MonotonicMs;
}

export interface HopLedgerOptions {
  readonly clock: Clock;
  readonly cluster: string;
  readonly namespace: string;
  /** Of the service, and of the label `app` by which it selects its pods. */
  readonly name: string;
}

const podsPrefix = "/registry/pods/";
const endpointsPrefix = "/registry/services/endpoints/";

export class HopLedger {
  readonly #options: HopLedgerOptions;
  /** By the storage's key, the address of a pod that is ready. */
  readonly #pods = new Map<string, string>();
  /** By hop and witness, the addresses that it has now. */
  readonly #present = new Map<string, ReadonlySet<string>>();
  readonly #changes: HopChange[] = [];

  constructor(options: HopLedgerOptions) {
    this.#options = options;
  }

  /** Those of one place in the order in which they happened. */
  get changes(): readonly HopChange[] {
    return this.#changes;
  }

  /** The storage has committed this, now. */
  readonly stored = (event: StorageEvent): void => {
    const { cluster, namespace, name } = this.#options;
    const key = event.type === "put" ? event.record.key : event.key;
    if (key.startsWith(`${podsPrefix}${namespace}/`)) {
      const address = podAddress(objectOf(event), name);
      if (address === undefined) this.#pods.delete(key);
      else this.#pods.set(key, address);
      this.#replace("pod", cluster, [...this.#pods.values()]);
    } else if (key === `${endpointsPrefix}${namespace}/${name}`) {
      this.#replace("published", cluster, publishedAddresses(objectOf(event)));
    }
  };

  /** Since then a replica sends the service's requests to these; the first time is no change. */
  routed(
    replica: string,
    addresses: readonly string[],
    at: MonotonicMs = this.#options.clock.monotonicMs(),
  ): void {
    const place = placeOf({ hop: "routed", witness: replica });
    if (this.#present.has(place)) this.#replace("routed", replica, addresses, at);
    else this.#present.set(place, new Set(addresses));
  }

  #replace(
    hop: Hop,
    witness: string,
    addresses: readonly string[],
    at: MonotonicMs = this.#options.clock.monotonicMs(),
  ): void {
    const place = placeOf({ hop, witness });
    const before = this.#present.get(place) ?? new Set<string>();
    const after = new Set(addresses);
    this.#present.set(place, after);
    const note = (direction: Direction, address: string): void => {
      this.#changes.push({ hop, witness, address, direction, at });
    };
    for (const address of before) if (!after.has(address)) note("leave", address);
    for (const address of after) if (!before.has(address)) note("join", address);
  }
}

/** Undefined when it was deleted. */
function objectOf(event: StorageEvent): RawRecord | undefined {
  if (event.type === "delete") return undefined;
  const object: unknown = JSON.parse(Buffer.from(event.record.value).toString("utf8"));
  return isRecord(object) ? object : undefined;
}

/** Names where it was: `routed stock-1`. */
export function placeOf({ hop, witness }: Pick<HopChange, "hop" | "witness">): string {
  return `${hop} ${witness}`;
}
