// All that is asked of an object of a custom kind: the schema, its scale, objects inside it, lists
// that are sets or maps, and the rules. Rules are not run on objects whose shape is wrong.

import { FieldErrors } from "../kinds/field-errors.ts";
import type { CustomChange, ScalePaths } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { Correlation } from "./correlation.ts";
import { checkScaleSpec, checkScaleStatus } from "./custom-scale.ts";
import { checkEmbedded } from "./embedded-resources.ts";
import { noPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";
import { checkListTypes } from "./list-types.ts";
import { buildRules, checkRules, type RuleTree } from "./rule-check.ts";
import { checkValue } from "./value-check.ts";
import { reportFailures } from "./value-failure.ts";

export class ObjectRules {
  readonly #schema: JsonSchema;
  readonly #scale: ScalePaths | undefined;
  /** Undefined until first needed: most servers never see an object of most kinds. */
  #rules: { readonly tree: RuleTree | undefined } | undefined;

  constructor(schema: JsonSchema, scale: ScalePaths | undefined) {
    this.#schema = schema;
    this.#scale = scale;
  }

  checkNew(object: KubeObject, errors: FieldErrors): void {
    reportFailures(checkValue(this.#schema, object), "", errors);
    this.#checkScale(object, errors);
    checkEmbedded(object, this.#schema, errors);
    checkListTypes(this.#schema, object, "", errors);
    this.#runRules(object, undefined, undefined, errors);
  }

  checkChange({ object, current, isStatus }: CustomChange, errors: FieldErrors): void {
    const before = new Correlation(object, current, this.#schema);
    if (isStatus) this.#checkStatus(object, before, errors);
    else {
      reportFailures(checkValue(this.#schema, object, before), "", errors);
      this.#checkScale(object, errors);
      checkEmbedded(object, this.#schema, errors);
    }
    if (!this.#hasRepeated(current)) checkListTypes(this.#schema, object, "", errors);
    this.#runRules(object, current, before, errors);
  }

  #checkStatus(object: KubeObject, before: Correlation, errors: FieldErrors): void {
    const schema = this.#schema.properties.get("status");
    if (schema !== undefined && Object.hasOwn(object, "status")) {
      const failures = checkValue(schema, object["status"], before.field("status"));
      reportFailures(failures, "status", errors);
    }
    if (this.#scale !== undefined) checkScaleStatus(object, this.#scale, errors);
  }

  #checkScale(object: KubeObject, errors: FieldErrors): void {
    if (this.#scale === undefined) return;
    checkScaleSpec(object, this.#scale, errors);
    checkScaleStatus(object, this.#scale, errors);
  }

  /** What was wrong before may stay wrong. */
  #hasRepeated(current: KubeObject): boolean {
    const old = new FieldErrors();
    checkListTypes(this.#schema, current, "", old);
    return old.causes.length > 0;
  }

  #runRules(
    object: KubeObject,
    current: KubeObject | undefined,
    before: Correlation | undefined,
    errors: FieldErrors,
  ): void {
    this.#rules ??= { tree: buildRules(this.#schema, true) };
    const { tree } = this.#rules;
    if (tree === undefined) return;
    if (errors.causes.some(({ reason }) => blocking.has(reason))) {
      const detail =
        "some validation rules were not checked because the object was invalid; " +
        "correct the existing errors to complete validation";
      errors.invalid(noPath, null, detail);
      return;
    }
    const subject = { value: object, old: current, path: "", before, parentIsSame: false };
    checkRules(tree, subject, errors);
  }
}

/** Rules could not be trusted with such a value. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
