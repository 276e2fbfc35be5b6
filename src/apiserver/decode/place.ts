// The position of a decoder in an object. A place knows its parent; its path is built on demand,
// because only errors need it.
import { schemas } from "../kinds/schema.ts";

/** A field of a struct, a key of a map, or an index of a list. */
type Step = "field" | "key" | "item";

export class Place {
  /** The type whose field is being read. */
  readonly owner: string;
  /** Paths of fields that are not in the schema; all places of one object share the list. */
  readonly unknownFields: string[];
  readonly #parent: Place | undefined;
  readonly #step: Step;
  readonly #name: string | number;

  static root(owner: string): Place {
    return new Place(undefined, "field", "", owner, []);
  }

  private constructor(
    parent: Place | undefined,
    step: Step,
    name: string | number,
    owner: string,
    unknownFields: string[],
  ) {
    this.#parent = parent;
    this.#step = step;
    this.#name = name;
    this.owner = owner;
    this.unknownFields = unknownFields;
  }

  field(name: string, owner: string): Place {
    return new Place(this, "field", name, owner, this.unknownFields);
  }

  key(name: string): Place {
    return new Place(this, "key", name, this.owner, this.unknownFields);
  }

  item(index: number): Place {
    return new Place(this, "item", index, this.owner, this.unknownFields);
  }

  /** `spec.containers[0].name`; empty at the root. */
  get path(): string {
    const parent = this.#parent?.path ?? "";
    if (this.#step === "item") {
      return `${parent}[${this.#name}]`;
    }
    return parent === "" ? String(this.#name) : `${parent}.${this.#name}`;
  }

  /** The path in messages of Go's decoder: fields only, with the structs that Go embeds. */
  get goPath(): string {
    const parent = this.#parent?.goPath ?? "";
    if (this.#step !== "field" || this.#parent === undefined) {
      return parent;
    }
    const embedded = embeddedStruct(this.owner, String(this.#name));
    const steps = [parent, embedded, String(this.#name)];
    return steps.filter((step) => step !== "").join(".");
  }
}

/** By the type that embeds it. */
const embeddedStructs: Readonly<Record<string, string>> = {
  "core.v1.EphemeralContainer": "EphemeralContainerCommon",
  "core.v1.Probe": "ProbeHandler",
  "core.v1.Volume": "VolumeSource",
  "networking.v1.IngressRule": "IngressRuleValue",
};

/** In all other types of core. */
const usualStruct = "LocalObjectReference";

/**
 * The struct that Go embeds for this field, "" for none. In JSON its fields are those of the outer
 * type, but Go's decoder names it.
 */
function embeddedStruct(owner: string, field: string): string {
  const depth = schemas[owner]?.fields[field]?.proto?.length ?? 0;
  return depth < 2 ? "" : (embeddedStructs[owner] ?? usualStruct);
}
