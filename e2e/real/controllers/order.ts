// Whether the lab would have put the subsets of an Endpoints object in the order in which the real
// controller put them. It hangs on the pods' uids, so that it cannot be compared between two servers.
import { isRecord, listAt, type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import { sameJson } from "../../../src/kube/kinds/same-json.ts";
import { type Placed, repack } from "../../../src/lab/controllers/endpoints/repack.ts";
import { placedIn } from "../../../src/lab/controllers/endpoints/stored-subsets.ts";

export interface Orders {
  /** Objects with several subsets, or several ports in one. */
  readonly checked: number;
  readonly wrong: readonly string[];
}

export class OrderCheck {
  #checked = 0;
  readonly #wrong: string[] = [];

  look(endpoints: readonly RawRecord[]): void {
    for (const object of endpoints) {
      const { namespace, name, labels } = recordAt(object, "metadata");
      const keeper = isRecord(labels) ? labels["endpoints.kubernetes.io/managed-by"] : undefined;
      const subsets = listAt(object, "subsets").filter(isRecord);
      const isOrdered =
        subsets.length > 1 || subsets.some((one) => listAt(one, "ports").length > 1);
      if (keeper !== "endpoint-controller" || !isOrdered) continue;
      this.#checked += 1;
      if (!isInOrder(object)) this.#wrong.push(`${String(namespace)}/${String(name)}`);
    }
  }

  result(): Orders {
    return { checked: this.#checked, wrong: this.#wrong };
  }
}

function isInOrder(object: RawRecord): boolean {
  // The controller computed the ports in one go, so those of all subsets are the same.
  const placed = placedIn(object).map(
    ({ port, address, ready }): Placed => ({ port, address, ready }),
  );
  const types = { package: "v1", appProtocol: true, hash: "fnv-128a" } as const;
  return sameJson(repack(placed, types), listAt(object, "subsets"));
}
