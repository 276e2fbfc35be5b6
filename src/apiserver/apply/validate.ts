// Validates an applied value against its type, with the messages of the real server. A field that
// is not in the schema is an error: it could not have an owner.

import { formatGoSyntax, formatGoValue, goTypeOf } from "../decode/go-format.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { fieldElement, type PathElement, showPathElement } from "./path-element.ts";
import { itemElement, ListItemError } from "./typed-value.ts";
import {
  type ListType,
  type MapType,
  resolveShape,
  type ScalarType,
  shapeOf,
  type ValueType,
} from "./value-type.ts";

/** All problems of the value in one message; undefined if it is valid. */
export function validate(type: ValueType, value: unknown): string | undefined {
  const validation = new Validation();
  validation.check(type, value, "");
  const { problems } = validation;
  if (problems.length <= 1) return problems[0];
  return ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n");
}

class Validation {
  readonly problems: string[] = [];

  check(type: ValueType, value: unknown, path: string): void {
    const shape = resolveShape(type, shapeOf(type, value));
    if (value === null || value === undefined) return;
    if (shape === "map" && type.map !== undefined) {
      this.#checkMap(type.map, value, path);
    } else if (shape === "list" && type.list !== undefined) {
      this.#checkList(type.list, value, path);
    } else {
      this.#report(path, scalarProblem(type.scalar ?? "any", value));
    }
  }

  #checkMap(type: MapType, value: unknown, path: string): void {
    if (!isJsonObject(value)) {
      this.#report(path, `expected map, got &{${formatGoValue(value)}}`);
      return;
    }
    for (const key of Object.keys(value).sort()) {
      const below = type.field(key)?.type ?? type.element;
      const place = path + showPathElement(fieldElement(key));
      if (below === undefined) {
        this.#report(place, "field not declared in schema");
        return;
      }
      this.check(below, value[key], place);
    }
  }

  #checkList(type: ListType, value: unknown, path: string): void {
    if (!Array.isArray(value)) {
      this.#report(path, `expected list, got &{${formatGoValue(value)}}`);
      return;
    }
    const seen = new Set<PathElement>();
    for (const [index, item] of value.entries()) {
      const element = this.#elementOf(type, item, index, path);
      if (element === undefined) return;
      if (!type.isAtomic && seen.has(element)) {
        this.#report(path, `duplicate entries for key ${showPathElement(element)}`);
      }
      seen.add(element);
      this.check(type.element, item, path + showPathElement(element));
    }
  }

  #elementOf(type: ListType, item: unknown, index: number, path: string): PathElement | undefined {
    if (type.isAtomic) return `i:${index}`;
    try {
      return itemElement(type, item);
    } catch (error) {
      if (!(error instanceof ListItemError)) throw error;
      this.#report(path, `element ${index}: ${error.message}`);
      return undefined;
    }
  }

  #report(path: string, problem: string | undefined): void {
    if (problem !== undefined) {
      this.problems.push(path === "" ? problem : `${path}: ${problem}`);
    }
  }
}

function scalarProblem(type: ScalarType, value: unknown): string | undefined {
  const isScalar = ["string", "number", "boolean"].includes(typeof value);
  if (type === "any" ? isScalar : typeof value === type) return undefined;
  switch (type) {
    case "number":
      return `expected numeric (int or float), got ${goTypeOf(value)}`;
    case "string":
      return `expected string, got &value.valueUnstructured{Value:${formatGoSyntax(value)}}`;
    case "boolean":
      return `expected boolean, got &{${formatGoValue(value)}}`;
    case "any":
      return `expected any scalar, got &{${formatGoValue(value)}}`;
  }
}
