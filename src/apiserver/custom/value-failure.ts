// What a schema finds wrong with a value, and how the API words it. Paths inside are those of the
// value; a status that is checked by itself puts its own name in front of them.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { childPath, noPath } from "./field-path.ts";

export type ValueFailure =
  | { readonly type: "required"; readonly path: string }
  | {
      readonly type: "enum";
      readonly path: string;
      readonly value: unknown;
      readonly allowed: readonly unknown[];
    }
  | { readonly type: "tooLong"; readonly path: string; readonly max: number }
  | {
      readonly type: "tooMany";
      readonly path: string;
      readonly count: number;
      readonly max: number;
    }
  | {
      readonly type: "mistyped" | "invalid";
      readonly path: string;
      readonly value: unknown;
      readonly message: string;
    }
  /** Not about one field: a choice between schemas, or the range of a number. */
  | { readonly type: "general"; readonly message: string };

/** `base` is the path of the value in its object; "" for the object itself. */
export function reportFailures(
  failures: readonly ValueFailure[],
  base: string,
  errors: FieldErrors,
): void {
  for (const failure of failures) report(failure, base, errors);
}

function report(failure: ValueFailure, base: string, errors: FieldErrors): void {
  if (failure.type === "general") {
    errors.invalid(base === "" ? noPath : base, "", failure.message);
    return;
  }
  const relative = failure.path.replace(/^\./, "");
  const path = relative === "" ? base : childPath(base, relative);
  const shown = path === "" ? noPath : path;
  switch (failure.type) {
    case "required":
      errors.required(shown);
      break;
    case "enum":
      errors.notSupported(shown, failure.value, failure.allowed.map(enumText));
      break;
    case "tooLong":
      errors.tooLong(shown, failure.max);
      break;
    case "tooMany":
      errors.tooMany(shown, failure.count, failure.max);
      break;
    case "mistyped":
      errors.typeInvalid(shown, failure.value, failure.message);
      break;
    case "invalid":
      errors.invalid(shown, failure.value, failure.message);
      break;
  }
}

function enumText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
