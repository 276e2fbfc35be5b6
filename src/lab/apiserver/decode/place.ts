// Where in an object a decoder is. A place knows its parent, and its path is put together only when
// somebody asks for it: that is when something is wrong, and nearly always nothing is.

export class Place {
  /** The type whose field is being read. */
  readonly owner: string;
  /** Paths of fields that the schema does not have, collected on the way; one list for all. */
  readonly unknownFields: string[];
  readonly #parent: Place | undefined;
  readonly #step: string | number;

  static root(owner: string): Place {
    return new Place(undefined, "", owner, []);
  }

  private constructor(
    parent: Place | undefined,
    step: string | number,
    owner: string,
    unknownFields: string[],
  ) {
    this.#parent = parent;
    this.#step = step;
    this.owner = owner;
    this.unknownFields = unknownFields;
  }

  field(name: string, owner: string): Place {
    return new Place(this, name, owner, this.unknownFields);
  }

  item(index: number): Place {
    return new Place(this, index, this.owner, this.unknownFields);
  }

  /** `spec.containers[0].name`; empty at the root. */
  get path(): string {
    const parent = this.#parent?.path ?? "";
    if (typeof this.#step === "number") {
      return `${parent}[${this.#step}]`;
    }
    return parent === "" ? this.#step : `${parent}.${this.#step}`;
  }
}
