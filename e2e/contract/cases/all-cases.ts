// The whole contract.
import type { ContractCase } from "../contract-case.ts";
import { accessCases } from "./access.ts";
import { applyCases } from "./apply.ts";
import { customKindCases } from "./custom-kinds.ts";
import { documentCases } from "./documents.ts";
import { formCases } from "./forms.ts";
import { lifecycleCases } from "./lifecycles.ts";
import { listAndWatchCases } from "./list-and-watch.ts";
import { mutationCases, randomCases } from "./mutations.ts";
import { objectLifeCases } from "./object-life.ts";
import { requestCases } from "./requests.ts";
import { serviceCases } from "./services.ts";
import { tableCases } from "./tables.ts";

export const allCases: readonly ContractCase[] = [
  ...objectLifeCases,
  ...requestCases,
  ...documentCases,
  ...listAndWatchCases,
  ...lifecycleCases,
  ...serviceCases,
  ...formCases,
  ...tableCases,
  ...applyCases,
  ...accessCases,
  ...customKindCases,
  ...mutationCases,
  ...randomCases,
];
