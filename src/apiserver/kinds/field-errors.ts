// The problems of an object, field by field, in the words of Kubernetes, and the one `Status` with
// all of them. Validation collects every problem before it refuses.
import { ApiError, type StatusCause } from "../api-error.ts";

type FieldErrorReason =
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueInvalid"
  | "FieldValueNotFound"
  | "FieldValueNotSupported"
  | "FieldValueRequired"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid";

export class FieldErrors {
  readonly #causes: StatusCause[] = [];

  get causes(): readonly StatusCause[] {
    return this.#causes;
  }

  /** Adds problems found elsewhere; `prefix` goes before the path of each. */
  include(causes: readonly StatusCause[], prefix = ""): void {
    for (const cause of causes) {
      this.#causes.push({ ...cause, field: `${prefix}${cause.field ?? ""}` });
    }
  }

  required(field: string, detail = ""): void {
    this.#add("FieldValueRequired", field, withDetail("Required value", detail));
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.#add("FieldValueInvalid", field, `Invalid value: ${goJson(value)}: ${detail}`);
  }

  /** Where the value is too large to be worth showing. */
  invalidOmitted(field: string, detail: string): void {
    this.#add("FieldValueInvalid", field, withDetail("Invalid value", detail));
  }

  /** A value whose JSON type is not that of the schema; checks of its content would skip it. */
  typeInvalid(field: string, value: unknown, detail: string): void {
    this.#add("FieldValueTypeInvalid", field, `Invalid value: ${goJson(value)}: ${detail}`);
  }

  duplicate(field: string, value: unknown, detail = ""): void {
    const shown = value === undefined ? "" : `: ${goJson(value)}`;
    this.#add("FieldValueDuplicate", field, withDetail(`Duplicate value${shown}`, detail));
  }

  notFound(field: string, value: unknown): void {
    this.#add("FieldValueNotFound", field, `Not found: ${goJson(value)}`);
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    const values = supported.map((text) => JSON.stringify(text)).join(", ");
    const message = `Unsupported value: ${goJson(value)}: supported values: ${values}`;
    this.#add("FieldValueNotSupported", field, message);
  }

  forbidden(field: string, detail: string): void {
    this.#add("FieldValueForbidden", field, withDetail("Forbidden", detail));
  }

  tooLong(field: string, maxBytes: number): void {
    this.#add("FieldValueTooLong", field, `Too long: may not be more than ${maxBytes} bytes`);
  }

  tooMany(field: string, count: number, max: number): void {
    const message = `Too many: ${count}: must have at most ${max} items`;
    this.#add("FieldValueTooMany", field, message);
  }

  /** One error for each message about the same value. */
  invalidForEach(field: string, value: unknown, messages: readonly string[]): void {
    for (const message of messages) {
      this.invalid(field, value, message);
    }
  }

  oneOf(field: string, value: string, supported: readonly string[]): void {
    if (value === "") {
      this.required(field);
    } else if (!supported.includes(value)) {
      this.notSupported(field, value, supported);
    }
  }

  nonNegative(field: string, value: number | undefined): void {
    if (value !== undefined && value < 0) {
      this.invalid(field, value, "must be greater than or equal to 0");
    }
  }

  portNumber(field: string, value: number | undefined): void {
    if (value === undefined || value < 1 || value > maxPort) {
      this.invalid(field, value ?? 0, `must be between 1 and ${maxPort}, inclusive`);
    }
  }

  /** A port by its number, or by a name that keeps the rule. */
  portNumberOrName(field: string, value: unknown, rule: (name: string) => readonly string[]): void {
    if (typeof value === "string") {
      this.invalidForEach(field, value, rule(value));
    } else {
      this.portNumber(field, typeof value === "number" ? value : undefined);
    }
  }

  /** Throws one 422 with everything that was found; does nothing when all is well. */
  throwIfAny(subject: { readonly group: string; readonly kind: string }, name: string): void {
    if (this.#causes.length > 0) {
      throw this.toError(subject, name);
    }
  }

  toError(subject: { readonly group: string; readonly kind: string }, name: string): ApiError {
    return invalidObject(subject, name, this.#causes);
  }

  #add(reason: FieldErrorReason, field: string, message: string): void {
    this.#causes.push({ reason, message, field });
  }
}

const maxPort = 65_535;

/** Characters that Go's encoder escapes and JavaScript's does not, so that HTML can hold them. */
const escapes: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** A text is quoted; any other value is shown as Go encodes it. */
function goJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (typeof value !== "object" || value === null) return json;
  return json.replace(/[<>&\u2028\u2029]/g, (character) => escapes[character] ?? character);
}

function withDetail(text: string, detail: string): string {
  return detail === "" ? text : `${text}: ${detail}`;
}

function invalidObject(
  subject: { readonly group: string; readonly kind: string },
  name: string,
  causes: readonly StatusCause[],
): ApiError {
  const sentences = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))];
  const all = sentences.length === 1 ? sentences[0] : `[${sentences.join(", ")}]`;
  const qualified = subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
  return new ApiError(422, "Invalid", `${qualified} ${JSON.stringify(name)} is invalid: ${all}`, {
    ...(name === "" ? {} : { name }),
    ...(subject.group === "" ? {} : { group: subject.group }),
    ...(subject.kind === "" ? {} : { kind: subject.kind }),
    causes,
  });
}
