// The keywords of numbers: the range of the format, bounds and multiples.
import type { JsonSchema } from "./json-schema.ts";
import type { ValueFailure } from "./value-failure.ts";

const int32Max = 2 ** 31 - 1;
const int64Max = 2 ** 63;
const float32Max = 3.4028234663852886e38;

export function checkNumber(
  schema: JsonSchema,
  value: number,
  path: string,
): readonly ValueFailure[] {
  return [
    ...checkRange(schema, value, path),
    ...checkMultiple(schema, value, path),
    ...checkBounds(schema, value, path),
  ];
}

/** A value that its type cannot hold; a whole number where the type is one. */
function checkRange(
  { type, format }: JsonSchema,
  value: number,
  path: string,
): readonly ValueFailure[] {
  const isIn =
    type === "integer"
      ? isInteger(value, format)
      : format !== "float" || Math.abs(value) <= float32Max;
  if (isIn) return [];
  const named = format === "int32" || format === "int64" || format === "float";
  const expected = named ? `${type} with format ${format}` : `${type} (default format)`;
  return [{ type: "general", message: `Checked value must be of type ${expected} in ${path}` }];
}

function isInteger(value: number, format: string): boolean {
  if (!Number.isInteger(value)) return false;
  return format === "int32"
    ? value >= -int32Max - 1 && value <= int32Max
    : Math.abs(value) < int64Max;
}

function checkMultiple(
  { multipleOf }: JsonSchema,
  value: number,
  path: string,
): readonly ValueFailure[] {
  if (multipleOf === undefined) return [];
  const factor = Number.isInteger(value) ? Math.trunc(multipleOf) : multipleOf;
  if (factor <= 0) {
    const message = `factor MultipleOf declared for ${path} must be positive: ${factor}`;
    return [{ type: "invalid", path, value: factor, message }];
  }
  if (Number.isInteger(value / factor)) return [];
  return [invalid(path, value, `should be a multiple of ${factor}`)];
}

function checkBounds(schema: JsonSchema, value: number, path: string): readonly ValueFailure[] {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const failures: ValueFailure[] = [];
  const shown = (bound: number) => (Number.isInteger(value) ? Math.trunc(bound) : bound);
  if (minimum !== undefined) {
    const bound = shown(minimum);
    const rule = exclusiveMinimum ? "greater than" : "greater than or equal to";
    const isBelow = exclusiveMinimum ? value <= bound : value < bound;
    if (isBelow) failures.push(invalid(path, value, `should be ${rule} ${bound}`));
  }
  if (maximum !== undefined) {
    const bound = shown(maximum);
    const rule = exclusiveMaximum ? "less than" : "less than or equal to";
    const isAbove = exclusiveMaximum ? value >= bound : value > bound;
    if (isAbove) failures.push(invalid(path, value, `should be ${rule} ${bound}`));
  }
  return failures;
}

function invalid(path: string, value: number, problem: string): ValueFailure {
  return { type: "invalid", path, value, message: `${path} in body ${problem}` };
}
