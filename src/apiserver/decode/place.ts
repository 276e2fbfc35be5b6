// Where in an object a decoder is. A place knows its parent, and its path is put together only when
// somebody asks for it: that is when something is wrong, and nearly always nothing is.
import { embeddedStruct } from "./embedded-structs.ts";

/** A field of a struct, a key of a map, or an index of a list. */
type Step = "field" | "key" | "item";

export class Place {
  /** The type whose field is being read. */
  readonly owner: string;
  /** Paths of fields that the schema does not have, collected on the way; one list for all. */
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

  /** As Go's decoder shows it: fields only, with the structs that Go embeds on the way. */
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
