// Leases: locks of leader elections, and heartbeats of nodes.
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import { numberAt, textAt } from "./fields.ts";
import { defineKind } from "./resource-kind.ts";

const leaseColumns: KindColumns = {
  columns: [nameColumn, textColumn("Holder", "Who holds the lease."), ageColumn],
  cells: (lease, now) => [
    nameOf(lease),
    textAt(lease, "spec", "holderIdentity"),
    ageOf(lease, now),
  ],
};

export const leaseKind = defineKind({
  group: "coordination.k8s.io",
  kind: "Lease",
  resource: "leases",
  namespaced: true,
  schema: "coordination.v1.Lease",
  columns: leaseColumns,
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate(lease, errors) {
    const duration = numberAt(lease, "spec", "leaseDurationSeconds");
    if (duration !== undefined && duration <= 0) {
      errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0");
    }
    const transitions = numberAt(lease, "spec", "leaseTransitions");
    errors.nonNegative("spec.leaseTransitions", transitions);
  },
});
