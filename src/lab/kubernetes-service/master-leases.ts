// The leases by which API servers know of each other: one key for each address in their storage,
// refreshed at every round and gone when its time is over. etcd removes a key whose time is over by
// itself; here whoever lists does it, by the clock that all servers of the storage share.

import type { Storage, StoredRecord } from "../../apiserver/storage/storage.ts";
import type { Clock } from "../../environment/clock.ts";
import { listAt, optionalNumber, optionalString } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";

export interface MasterLeasesOptions {
  readonly storage: Storage;
  readonly clock: Clock;
}

/** DefaultEndpointReconcilerTTL in pkg/controlplane/apiserver/config.go. */
export const masterLeaseMs = 15_000;

/** Where kube-apiserver keeps them: `masterleases` under the prefix of everything. */
const prefix = "/registry/masterleases/";

/** Two servers write different keys, so a second try is rare and a third unheard of. */
const maxTries = 5;

export class MasterLeases {
  readonly #options: MasterLeasesOptions;

  constructor(options: MasterLeasesOptions) {
    this.#options = options;
  }

  /** From now on the address counts for another while. */
  async renew(ip: string): Promise<void> {
    const { storage, clock } = this.#options;
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const { record } = await storage.get(prefix + ip);
      const value = leaseValue(ip, clock.wallMs() + masterLeaseMs);
      if ((await storage.put(prefix + ip, value, record?.revision ?? 0)).done) return;
    }
    throw new Error(`the lease of ${ip} could not be renewed in ${maxTries} tries`);
  }

  async remove(ip: string): Promise<void> {
    const { storage } = this.#options;
    const { record } = await storage.get(prefix + ip);
    if (record !== undefined) await storage.delete(record.key, record.revision);
  }

  /** The addresses whose time is not over, in the order of their keys. */
  async list(): Promise<readonly string[]> {
    const { storage, clock } = this.#options;
    const addresses: string[] = [];
    for (const record of (await storage.list(prefix)).records) {
      const { ip, endsAt } = parseLease(record);
      if (endsAt > clock.wallMs()) addresses.push(ip);
      else await storage.delete(record.key, record.revision);
    }
    return addresses;
  }
}

/** As the real server stores it, an Endpoints object, beside the end of its time. */
function leaseValue(ip: string, endsAt: number): Uint8Array {
  const subsets = [{ addresses: [{ ip }] }];
  const lease = { apiVersion: "v1", kind: "Endpoints", metadata: {}, subsets, endsAt };
  return new TextEncoder().encode(JSON.stringify(lease));
}

function parseLease({ value }: StoredRecord): { readonly ip: string; readonly endsAt: number } {
  const lease = objectRecord(JSON.parse(new TextDecoder().decode(value)));
  const [subset] = listAt(lease, "subsets");
  const [address] = listAt(objectRecord(subset), "addresses");
  return {
    ip: optionalString(objectRecord(address), "ip") ?? "",
    endsAt: optionalNumber(lease, "endsAt") ?? 0,
  };
}
