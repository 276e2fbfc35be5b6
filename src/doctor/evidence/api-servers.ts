// The API servers of a cluster, one by one: version, and how far each one's cache is behind a quorum read.
// A check is an object of the kind `ApiServerCheck`, so that saved checks are read as live ones are.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { Place } from "./sign-log.ts";

export const apiServerKind = "ApiServerCheck";

/** One server, as it is fed and saved. */
export interface ApiServerCheck {
  readonly kind: typeof apiServerKind;
  /** `10.0.0.1:6443`. */
  readonly address: string;
  /** Absent when the server could not be reached. */
  readonly version?: string;
  /** The object that was read from its cache: `lease kube-node-lease/node-1`. Absent when none was. */
  readonly object?: string;
  /** By the times in the object: how much older it is in the cache. Absent when the cache is current. */
  readonly behindMs?: number;
}

export interface ApiServerFacts {
  readonly address: string;
  readonly version: string | undefined;
  readonly object: string | undefined;
  /** 0 when its cache is current. */
  readonly behindMs: number;
  readonly place: Place;
}

/** No cluster has more. */
const serversMax = 100;

export class ApiServers {
  readonly #servers = new Map<string, ApiServerFacts>();

  /** Other values than checks are passed over. */
  add({ address, version, object, behindMs }: RawRecord, place: Place): void {
    if (typeof address !== "string" || this.#servers.size >= serversMax) return;
    this.#servers.set(address, {
      address,
      version: typeof version === "string" ? version : undefined,
      object: typeof object === "string" ? object : undefined,
      behindMs: typeof behindMs === "number" ? behindMs : 0,
      place,
    });
  }

  get all(): readonly ApiServerFacts[] {
    return [...this.#servers.values()];
  }
}
