// Whether an object may refer to one of another namespace: only if a ReferenceGrant there says so.
import type { GrantFrom, ReferenceGrant } from "../../../kube/kinds/reference-grant.ts";

export interface GrantedTarget {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export class ReferenceGrants {
  readonly #byNamespace = new Map<string, ReferenceGrant[]>();

  constructor(grants: readonly ReferenceGrant[]) {
    for (const grant of grants) {
      if (grant.metadata.deletionTimestamp !== undefined) continue;
      const { namespace } = grant.metadata;
      const known = this.#byNamespace.get(namespace);
      if (known === undefined) this.#byNamespace.set(namespace, [grant]);
      else known.push(grant);
    }
  }

  /** Within a namespace no grant is needed. */
  allow(from: GrantFrom, to: GrantedTarget): boolean {
    if (from.namespace === to.namespace) return true;
    return (this.#byNamespace.get(to.namespace) ?? []).some(
      (grant) =>
        grant.from.some(
          (one) =>
            one.group === from.group && one.kind === from.kind && one.namespace === from.namespace,
        ) &&
        grant.to.some(
          (one) =>
            one.group === to.group &&
            one.kind === to.kind &&
            (one.name === undefined || one.name === "" || one.name === to.name),
        ),
    );
  }
}
