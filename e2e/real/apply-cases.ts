// Cases of server-side apply and of field ownership, to be answered alike by the embedded and the
// real server: apply/compare.ts runs one on both, apply/random-cases.ts makes more.
import { kindCases } from "./apply/kind-cases.ts";
import { mergeCases } from "./apply/merge-cases.ts";
import { recordCases } from "./apply/record-cases.ts";
import { refusalCases } from "./apply/refusal-cases.ts";
import type { ApplyCase } from "./apply/steps.ts";

export const applyCases: readonly ApplyCase[] = [
  ...mergeCases,
  ...recordCases,
  ...refusalCases,
  ...kindCases,
];
