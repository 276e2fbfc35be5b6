// Owners that got their fields by ordinary writes. An object keeps ten of them; older ones become
// one, `ancient-changes`, so that an object written by ever new clients does not grow for ever.
import { type Owner, type Ownership, ownerKey, ownerSeconds } from "./ownership.ts";

/** As in k8s.io/apimachinery/pkg/util/managedfields. */
const maxUpdateOwners = 10;

const ancientManager = "ancient-changes";

/** Changes the given ownership. */
export function capUpdateOwners(ownership: Ownership): void {
  const updaters = [...ownership].filter(([, owner]) => owner.operation === "Update");
  let count = updaters.length;
  if (count <= maxUpdateOwners) return;
  updaters.sort(compareByAge);
  const firstOfVersion = new Map<string, string>();
  for (const [key, owner] of updaters) {
    if (count <= maxUpdateOwners) return;
    const first = firstOfVersion.get(owner.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(owner.apiVersion, key);
    } else {
      mergeIntoAncient(ownership, first, key);
      count--;
    }
  }
}

function mergeIntoAncient(ownership: Ownership, first: string, key: string): void {
  const owner = ownership.get(key);
  if (owner === undefined) return;
  const { apiVersion, time } = owner;
  const bucket: Owner = {
    ...owner,
    manager: ancientManager,
    operation: "Update",
    subresource: "",
  };
  const bucketKey = ownerKey({ ...bucket, apiVersion });
  const before = ownership.get(bucketKey) ?? ownership.get(first);
  if (!ownership.has(bucketKey)) ownership.delete(first);
  ownership.delete(key);
  // The time is that of the latest change in it.
  const fields = before === undefined ? owner.fields : owner.fields.union(before.fields);
  ownership.set(bucketKey, { ...bucket, time, fields });
}

function compareByAge([a, left]: [string, Owner], [b, right]: [string, Owner]): number {
  const order = ownerSeconds(left) - ownerSeconds(right);
  if (order !== 0 || a === b) return order;
  return a < b ? -1 : 1;
}
