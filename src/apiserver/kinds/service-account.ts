// ServiceAccounts: the identities of pods. Their tokens are issued in access/token-request.ts.
import { ageColumn, ageOf, type KindColumns, nameColumn, nameOf } from "../tables/columns.ts";
import { defineKind } from "./resource-kind.ts";

const serviceAccountColumns: KindColumns = {
  columns: [nameColumn, ageColumn],
  cells: (account, now) => [nameOf(account), ageOf(account, now)],
};

export const serviceAccountKind = defineKind({
  kind: "ServiceAccount",
  resource: "serviceaccounts",
  shortNames: ["sa"],
  namespaced: true,
  schema: "core.v1.ServiceAccount",
  columns: serviceAccountColumns,
  subresources: ["token"],
  returnsDeleted: true,
});
