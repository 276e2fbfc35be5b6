// What the rules of a whole schema may cost together, and each of them alone. A rule on the items of
// a list costs as often as there can be items.
import type { FieldErrors } from "../kinds/field-errors.ts";
import type { JsonSchema } from "./json-schema.ts";

/** apiextensions' StaticEstimatedCostLimit and StaticEstimatedCRDCostLimit. */
const ruleLimit = 10_000_000;
const schemaLimit = 100_000_000;

/** So many of the most expensive are named. */
const namedRules = 4;

export class RuleBudget {
  #total = 0;
  readonly #expensive: { readonly path: string; readonly cost: number }[] = [];

  /** Counts one expression; refuses it when it is too expensive by itself. */
  spend(path: string, what: "rule" | "messageExpression", cost: number, errors: FieldErrors): void {
    if (cost > ruleLimit)
      errors.forbidden(path, overBudget(`estimated ${what} cost`, cost, ruleLimit));
    this.#total += cost;
    if (cost >= schemaLimit / 100) this.#expensive.push({ path, cost });
  }

  /** Refuses the schema when all its rules together are too expensive. */
  close(path: string, errors: FieldErrors): void {
    if (this.#total <= schemaLimit) return;
    const most = [...this.#expensive].sort((a, b) => b.cost - a.cost).slice(0, namedRules);
    for (const { path: rule } of most) {
      errors.forbidden(
        rule,
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
      );
    }
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    errors.forbidden(path, overBudget(what, this.#total, schemaLimit));
  }
}

/** How many values of a schema below this one there can be for each of it; undefined: no bound. */
export function elementsOf(schema: JsonSchema): number | undefined {
  if (schema.type === "array") return schema.maxItems;
  const isMap = schema.type === "object" && schema.additionalProperties !== undefined;
  return isMap ? schema.maxProperties : 1;
}

function overBudget(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100x" : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  return (
    `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, ` +
    "maxProperties, and maxLength where arrays, maps, and strings are declared)"
  );
}
