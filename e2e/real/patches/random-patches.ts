// Random patches of all kinds for a Deployment, a Service, a ConfigMap and a Node: mostly sensible,
// with every directive a strategic merge patch knows, and now and then a mistake. The same seed
// gives the same patches.
import { type JsonObject, patchBases } from "./patch-bases.ts";

export interface RandomPatch {
  readonly base: string;
  readonly contentType: string;
  readonly patch: unknown;
}

const contentTypes = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

/** One in so many is wrong on purpose. */
const mistakeEvery = 12;

export class PatchMaker {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): RandomPatch {
    const base = this.#one(Object.keys(patchBases));
    const form = this.#one(["strategic", "strategic", "strategic", "merge", "json"] as const);
    const contentType = contentTypes[form];
    if (form === "json") {
      return { base, contentType, patch: this.#operations(base) };
    }
    return { base, contentType, patch: this.#object(base, form === "strategic") };
  }

  #object(base: string, strategic: boolean): JsonObject {
    const metadata = this.#maybe(3, "metadata", () => this.#metadata(strategic));
    switch (base) {
      case "deployment":
        return { ...metadata, spec: this.#deploymentSpec(strategic) };
      case "service":
        return { ...metadata, spec: this.#serviceSpec(strategic) };
      case "node":
        return { ...metadata, spec: this.#nodeSpec(strategic) };
      default:
        return { ...metadata, ...this.#maybe(2, "data", () => this.#map(strategic)) };
    }
  }

  #metadata(strategic: boolean): JsonObject {
    return {
      ...this.#maybe(2, "labels", () => this.#map(strategic)),
      ...this.#maybe(3, "annotations", () => this.#map(strategic)),
      ...this.#maybe(2, "", () => this.#values("finalizers", ["a/x", "a/y", "a/z"], strategic)),
    };
  }

  #deploymentSpec(strategic: boolean): JsonObject {
    const spec = {
      ...this.#maybe(2, "", () =>
        this.#list("containers", "name", ["web", "log", "new"], strategic, (name) =>
          this.#container(name, strategic),
        ),
      ),
      ...this.#maybe(4, "", () =>
        this.#list("volumes", "name", ["v1", "v2", "v3"], strategic, (name) => ({
          name,
          ...this.#one([{ emptyDir: {} }, { configMap: { name: "c" } }, { emptyDir: null }, {}]),
          ...(strategic ? this.#maybe(4, "$retainKeys", () => ["name", "emptyDir"]) : {}),
        })),
      ),
      ...this.#maybe(5, "", () =>
        this.#list("hostAliases", "ip", ["10.0.0.1", "10.0.0.2"], strategic, (ip) => ({
          ip,
          hostnames: this.#some(["a", "b", "c"]),
        })),
      ),
      ...this.#maybe(5, "", () =>
        this.#list("imagePullSecrets", "name", ["s1", "s2"], strategic, (name) => ({ name })),
      ),
      ...this.#maybe(5, "tolerations", () => this.#some([{ key: "a" }, { key: "b" }])),
      ...this.#maybe(4, "nodeSelector", () => this.#map(strategic)),
      ...this.#maybe(6, "securityContext", () => this.#one([null, {}, { runAsUser: 5 }])),
    };
    return {
      ...this.#maybe(3, "replicas", () => this.#one([0, 3, null, "x"])),
      ...this.#maybe(3, "strategy", () => this.#strategy(strategic)),
      template: { spec },
    };
  }

  #strategy(strategic: boolean): unknown {
    const plain = [{ type: "Recreate", rollingUpdate: null }, { rollingUpdate: { maxSurge: 2 } }];
    return strategic
      ? this.#one([
          ...plain,
          { $retainKeys: ["type"], type: "Recreate" },
          { $retainKeys: ["type"], rollingUpdate: {} },
          { $retainKeys: "type" },
          { $patch: "replace", type: "Recreate" },
        ])
      : this.#one(plain);
  }

  #container(name: string, strategic: boolean): JsonObject {
    const ports = [80, 81, 82];
    return {
      name,
      ...this.#maybe(2, "image", () => this.#one(["i:1", "i:2", null])),
      ...this.#maybe(3, "args", () => this.#some(["a", "b", "c"])),
      ...this.#maybe(3, "", () =>
        this.#list("env", "name", ["A", "B", "C"], strategic, (key) => ({
          name: key,
          value: this.#one(["1", "2", ""]),
        })),
      ),
      ...this.#maybe(4, "", () =>
        this.#list("ports", "containerPort", ports, strategic, (containerPort) => ({
          containerPort,
          ...this.#maybe(3, "protocol", () => this.#one(["TCP", "UDP"])),
        })),
      ),
      ...this.#maybe(4, "resources", () =>
        this.#one([{}, null, { limits: { cpu: "1" } }, { limits: { cpu: null, memory: "1Gi" } }]),
      ),
      ...this.#maybe(5, "", () =>
        this.#list("volumeMounts", "mountPath", ["/a", "/b"], strategic, (mountPath) => ({
          mountPath,
          name: "v1",
        })),
      ),
    };
  }

  #serviceSpec(strategic: boolean): JsonObject {
    return {
      ...this.#maybe(2, "", () =>
        this.#list("ports", "port", [80, 443, 8080], strategic, (port) => ({
          port,
          name: `p${port}`,
          ...this.#maybe(2, "targetPort", () => this.#one([8080, "http"])),
        })),
      ),
      ...this.#maybe(3, "selector", () => this.#map(strategic)),
      ...this.#maybe(5, "externalIPs", () => this.#some(["1.2.3.4", "1.2.3.5"])),
    };
  }

  #nodeSpec(strategic: boolean): JsonObject {
    return {
      ...this.#maybe(1, "taints", () =>
        this.#some([
          { key: "a", effect: "NoSchedule" },
          { key: "b", effect: "NoExecute" },
        ]),
      ),
      ...(strategic ? this.#maybe(6, "$patch", () => this.#one(["replace", "delete"])) : {}),
    };
  }

  #map(strategic: boolean): unknown {
    const pairs = this.#some(["a", "b", "c"]).map((key) => [key, this.#one(["1", "2", null])]);
    const map: JsonObject = Object.fromEntries(pairs);
    if (strategic && this.#chance(8)) {
      map["$patch"] = this.#one(["replace", "delete", "merge"]);
    }
    return this.#chance(mistakeEvery) ? this.#one([1, "x", [], null]) : map;
  }

  /** A list that strategic patches merge by a key, with its directives. */
  #list<K extends string | number>(
    field: string,
    mergeKey: string,
    keys: readonly K[],
    strategic: boolean,
    element: (key: K) => JsonObject,
  ): JsonObject {
    const items: unknown[] = this.#some(keys).map(element);
    if (!strategic) {
      return { [field]: this.#chance(mistakeEvery) ? null : items };
    }
    if (this.#chance(3)) {
      items.push({ $patch: "delete", [mergeKey]: this.#one(keys) });
    }
    if (this.#chance(10)) {
      items.unshift({ $patch: this.#one(["replace", "merge", "other"]) });
    }
    if (this.#chance(mistakeEvery)) {
      items.push(this.#one([{}, "x", null, [], { $patch: "delete" }]));
    }
    const order = this.#some(keys).map((key) => ({ [mergeKey]: key }));
    return {
      ...(this.#chance(6) ? {} : { [field]: this.#chance(mistakeEvery) ? null : items }),
      ...this.#maybe(3, `$setElementOrder/${field}`, () =>
        this.#chance(mistakeEvery) ? this.#one([{}, "x", [{}]]) : order,
      ),
    };
  }

  /** A list of plain values that strategic patches merge, with its directives. */
  #values(field: string, values: readonly string[], strategic: boolean): JsonObject {
    return {
      ...this.#maybe(2, field, () =>
        this.#chance(mistakeEvery) ? this.#one([[1], "x", null]) : this.#some(values),
      ),
      ...(strategic
        ? {
            ...this.#maybe(3, `$setElementOrder/${field}`, () => this.#some(values)),
            ...this.#maybe(4, `$deleteFromPrimitiveList/${field}`, () => [this.#one(values)]),
          }
        : {}),
    };
  }

  #operations(base: string): unknown {
    const pointers = patchBases[base]?.pointers ?? [];
    return Array.from({ length: 1 + this.#below(3) }, () => ({
      op: this.#one(["add", "remove", "replace", "test", "copy", "move", "other"]),
      path: this.#one(pointers),
      from: this.#one(pointers),
      ...this.#maybe(1, "value", () => this.#one(["1", 3, null, { a: "1" }, ["a"]])),
      ...this.#maybe(mistakeEvery, "extra", () => 1),
    }));
  }

  /** One in `odds`, the field; spread in place when it has no name. */
  #maybe(odds: number, field: string, make: () => unknown): JsonObject {
    if (!this.#chance(odds)) {
      return {};
    }
    const value = make();
    return field === "" && typeof value === "object" ? { ...value } : { [field]: value };
  }

  #some<T>(from: readonly T[]): T[] {
    const shuffled = from.map((value) => ({ value, rank: this.#below(1_000_000) }));
    shuffled.sort((a, b) => a.rank - b.rank);
    return shuffled.slice(0, this.#below(from.length + 1)).map(({ value }) => value);
  }

  #one<T>(from: readonly T[]): T {
    const value = from[this.#below(from.length)];
    if (value === undefined) throw new Error("there is nothing to choose from");
    return value;
  }

  #chance(odds: number): boolean {
    return this.#below(odds) === 0;
  }

  /** Numbers that look random enough here: a 32-bit mix of a counter. */
  #below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
}
