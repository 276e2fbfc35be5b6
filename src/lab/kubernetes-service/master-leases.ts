// The leases of API servers: one key for each address in their storage, renewed at every round. etcd
// deletes an expired key by itself; here `list` deletes it, by the clock that all servers share.

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

/** The keys of kube-apiserver. */
const prefix = "/registry/masterleases/";

/** Servers write different keys, so even a second try is rare. */
const maxTries = 5;

/** NewKeyNotFoundError of k8s.io/apiserver/pkg/storage, with its text. */
export class MissingLeaseError extends Error {
  override readonly name = "MissingLeaseError";
  readonly code = "MISSING_LEASE";

  constructor(key: string) {
    super(
      `StorageError: key not found, Code: 1, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: `,
    );
  }
}

export class MasterLeases {
  readonly #options: MasterLeasesOptions;

  constructor(options: MasterLeasesOptions) {
    this.#options = options;
  }

  /** Extends the lease of the address to 15 s from now. */
  async renew(ip: string): Promise<void> {
    const { storage, clock } = this.#options;
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const { record } = await storage.get(prefix + ip);
      const value = leaseValue(ip, clock.wallMs() + masterLeaseMs);
      if ((await storage.put(prefix + ip, value, record?.revision ?? 0)).done) return;
    }
    throw new Error(`the lease of ${ip} could not be renewed in ${maxTries} tries`);
  }

  /** Rejects with `MissingLeaseError` when there is none. */
  async remove(ip: string): Promise<void> {
    const { storage } = this.#options;
    const { record } = await storage.get(prefix + ip);
    if (record === undefined) throw new MissingLeaseError(prefix + ip);
    await storage.delete(record.key, record.revision);
  }

  /** The addresses whose leases have not expired, in the order of their keys. */
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

/** An Endpoints object, as the real server stores it, with the time at which it expires. */
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
