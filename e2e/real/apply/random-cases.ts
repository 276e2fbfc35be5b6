// Random histories of one object: several clients apply, replace and patch it, with and without
// force. The same seed gives the same history.
import { type ApplyCase, type ApplyStep, apply, mergePatch } from "./steps.ts";
import { widgetsPath, widgetVersion } from "./widgets.ts";

export function randomApplyCase(seed: number): ApplyCase {
  const dice = new Dice(seed);
  const subject = dice.of([configMaps, deployments, services, widgets]);
  const path = `${subject.path}/a`;
  const steps: ApplyStep[] = [];
  const length = 4 + dice.upTo(10);
  for (let index = 0; index < length; index++) {
    steps.push(randomStep(dice, subject, path));
  }
  steps.push({ method: "GET", path });
  return { name: `seed ${seed}`, steps };
}

interface Subject {
  readonly path: string;
  /** The configuration of one client; a whole object when it must stand alone. */
  wanted(dice: Dice, isWhole: boolean): object;
  readonly subresources: readonly string[];
}

function randomStep(dice: Dice, subject: Subject, path: string): ApplyStep {
  const manager = dice.of(["one", "two", "three", "kubectl"]);
  switch (dice.of(["apply", "apply", "apply", "force", "force", "put", "post", "merge", "sub"])) {
    case "put":
      return { method: "PUT", path, body: subject.wanted(dice, true), userAgent: `${manager}/1` };
    case "post":
      return {
        method: "POST",
        path: `${subject.path}?fieldManager=${manager}`,
        body: subject.wanted(dice, true),
      };
    case "merge":
      return mergePatch(path, manager, dice.chance(0.05) ? reset : subject.wanted(dice, false));
    case "sub":
      return subresourceStep(dice, subject, path, manager);
    case "force":
      return apply(path, manager, subject.wanted(dice, dice.chance(0.7)), "&force=true");
    default:
      return apply(path, manager, subject.wanted(dice, dice.chance(0.7)));
  }
}

const reset = { metadata: { managedFields: [{}] } };

function subresourceStep(dice: Dice, subject: Subject, path: string, manager: string): ApplyStep {
  const subresource = dice.of(["", ...subject.subresources]);
  const force = dice.chance(0.5) ? "&force=true" : "";
  if (subresource === "/scale") {
    const scale = { spec: { replicas: dice.upTo(3) } };
    const kind = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a" } };
    return dice.chance(0.5)
      ? mergePatch(`${path}/scale`, manager, scale)
      : apply(`${path}/scale`, manager, { ...kind, ...scale }, force);
  }
  if (subresource === "/status") {
    const status = { status: { observedGeneration: dice.upTo(3) } };
    return dice.chance(0.5)
      ? mergePatch(`${path}/status`, manager, { ...subject.wanted(dice, false), ...status })
      : apply(`${path}/status`, manager, { ...subject.wanted(dice, false), ...status }, force);
  }
  return apply(path, manager, subject.wanted(dice, false), force);
}

const configMaps: Subject = {
  path: "/api/v1/namespaces/{case}/configmaps",
  subresources: [],
  wanted: (dice) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata(dice),
    ...dice.maybe({ data: dice.some({ a: "1", b: "2", c: dice.of(["3", "4"]) }) }),
    ...dice.maybe({ binaryData: dice.some({ x: dice.of(["AA==", "AQ=="]) }) }),
  }),
};

const deployments: Subject = {
  path: "/apis/apps/v1/namespaces/{case}/deployments",
  subresources: ["/status", "/scale"],
  wanted(dice, isWhole) {
    const container = {
      name: "web",
      ...(isWhole ? { image: "web:1" } : dice.maybe({ image: dice.of(["web:1", "web:2"]) })),
      ...dice.maybe({
        ports: dice.several([
          { containerPort: 80 },
          { containerPort: 80, protocol: "UDP", name: dice.of(["u", "v"]) },
          { containerPort: 81, ...dice.maybe({ name: "w" }) },
        ]),
      }),
      ...dice.maybe({
        env: dice.several([
          { name: "A", value: dice.of(["1", "2"]) },
          { name: "B", value: "1" },
          { name: "D", value: "1" },
          { name: "C", valueFrom: { configMapKeyRef: { name: "c", key: dice.of(["k", "l"]) } } },
        ]),
      }),
      ...dice.maybe({ resources: dice.of([{}, { limits: { cpu: dice.of(["1", "500m"]) } }]) }),
      ...dice.maybe({ command: dice.several(["run", "it"]) }),
    };
    const sidecar = { name: "side", image: dice.of(["side:1", "side:2"]) };
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: metadata(dice),
      spec: {
        ...dice.maybe({ replicas: dice.upTo(3) }),
        ...(isWhole ? { selector: { matchLabels: { app: "a" } } } : {}),
        ...dice.maybe({ paused: dice.chance(0.5) }),
        template: {
          ...(isWhole
            ? { metadata: { labels: { app: "a", ...dice.maybe({ v: dice.of(["1", "2"]) }) } } }
            : {}),
          spec: {
            containers: [container, ...dice.several([sidecar])],
            ...dice.maybe({ nodeSelector: dice.some({ z: dice.of(["1", "2"]) }) }),
            ...dice.maybe({ securityContext: dice.of([{}, { runAsUser: dice.upTo(2) }]) }),
          },
        },
      },
    };
  },
};

const services: Subject = {
  path: "/api/v1/namespaces/{case}/services",
  subresources: [],
  wanted: (dice, isWhole) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(dice),
    spec: {
      ...dice.maybe({ selector: dice.some({ app: dice.of(["a", "b"]) }) }),
      ports: [
        ...(isWhole ? [{ port: 80, name: "web" }] : []),
        ...dice.several([
          { port: 53, protocol: "UDP", name: "dns" },
          {
            port: 53,
            name: "dns-tcp",
            ...dice.maybe({ targetPort: dice.of<number | string>([53, "dns"]) }),
          },
        ]),
      ],
      ...dice.maybe({ sessionAffinity: dice.of(["None", "ClientIP"]) }),
      ...dice.maybe({ publishNotReadyAddresses: dice.chance(0.5) }),
    },
  }),
};

const widgets: Subject = {
  path: widgetsPath,
  subresources: ["/status"],
  wanted: (dice) => ({
    ...widgetVersion,
    metadata: withoutEmpty(metadata(dice)),
    ...dice.maybe({
      spec: {
        ...dice.maybe({ size: dice.upTo(3) }),
        ...dice.maybe({ limit: dice.of<number | string>([1, "1%"]) }),
        ...dice.maybe({
          ports: dice.several([
            { port: 1, ...dice.maybe({ note: dice.of(["a", "b"]) }) },
            { port: 1, protocol: "UDP" },
            { port: 2, protocol: "TCP" },
          ]),
        }),
        ...dice.maybe({ tags: dice.several(["c", "a", "b", "e", "d"]) }),
        ...dice.maybe({ order: dice.several(["x", "y"]) }),
        ...dice.maybe({ place: dice.some({ x: dice.upTo(2), y: dice.upTo(2) }) }),
        ...dice.maybe({ labels: dice.some({ l: dice.of(["1", "2"]), m: "1" }) }),
        ...dice.maybe({ nested: dice.some({ a: dice.of(["1", "2"]) }) }),
        ...dice.maybe({
          open: dice.some({ a: dice.some({ b: dice.upTo(2) }), c: [dice.upTo(2)] }),
        }),
      },
    }),
  }),
};

function metadata(dice: Dice): object {
  return {
    name: "a",
    ...dice.maybe({ labels: dice.some({ l: dice.of(["1", "2"]), m: "1" }) }),
    ...dice.maybe({ annotations: dice.some({ n: dice.of(["1", "2"]) }) }),
    ...dice.maybe({ finalizers: dice.several(["x.io/b", "x.io/a", "x.io/d", "x.io/c"]) }),
  };
}

/**
 * Of custom resources the real server stores an empty map of labels or annotations without ever
 * showing it, so that the next write writes, whatever it says.
 */
function withoutEmpty(fields: object): object {
  const isFilled = ([, value]: [string, unknown]) => Object.keys(Object(value)).length > 0;
  return Object.fromEntries(Object.entries(fields).filter(isFilled));
}

/** Chance from a seed: the generator known as mulberry32. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** From 0, exclusive. */
  upTo(end: number): number {
    return Math.floor(this.#next() * end);
  }

  of<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.upTo(choices.length)] ?? choices[0];
  }

  /** The fields, half of the time. */
  maybe(fields: object): object {
    return this.chance(0.5) ? fields : {};
  }

  /** Each field, most of the time. */
  some(fields: object): object {
    return Object.fromEntries(Object.entries(fields).filter(() => this.chance(0.7)));
  }

  /** Some of the items, in any order. */
  several<T>(items: readonly T[]): T[] {
    return items
      .filter(() => this.chance(0.6))
      .map((item) => ({ item, place: this.#next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ item }) => item);
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
