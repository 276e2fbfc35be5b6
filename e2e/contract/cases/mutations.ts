// One changed place of a valid object at a time: every field absent, of another type, empty, out of
// range, malformed or doubled. The server's answer to each is compared word for word. Dry runs, so
// that what is accepted leaves nothing behind and shows its defaults.
import fc from "fast-check";
import type { CaseWorld, ContractCase } from "../contract-case.ts";
import { allSubjects } from "../objects/all-subjects.ts";
import { collectionPath, type JsonObject, richObject, type Subject } from "../objects/subject.ts";

/** Of each kind. */
const randomObjects = 60;
/** Of the random objects; another finds others. */
const randomSeed = 20_260;

/** A dry run needs a namespace that is there, and leaves nothing in it. */
const sharedNamespace = "default";

/** Longer than any name may be. */
const longText = "a".repeat(300);

export const mutationCases: readonly ContractCase[] = allSubjects.flatMap((subject) =>
  mutationsOf(richObject(subject, "NAME")).map((mutation) => ({
    area: "validation",
    name: `${subject.kind}: ${mutation.place} ${mutation.what}`,
    run: (world) => post(world, subject, [mutation]),
  })),
);

/** Random objects of each kind: several places changed at once, the same ones in every run. */
export const randomCases: readonly ContractCase[] = allSubjects.flatMap((subject) => {
  const all = mutationsOf(richObject(subject, "NAME")).filter(({ what }) => !isOtherType(what));
  const some = fc.shuffledSubarray([...all], { minLength: 2, maxLength: 4 });
  return fc.sample(some, { seed: randomSeed, numRuns: randomObjects }).map((mutations, index) => ({
    area: "random objects",
    name: `${subject.kind} ${index + 1}`,
    run: (world: CaseWorld) => post(world, subject, apart(mutations)),
  }));
});

/** One in each place: of two in one map Go names the first it meets, which may be either. */
function apart(mutations: readonly Mutation[]): readonly Mutation[] {
  const parents = mutations.map(({ path }) => path.slice(0, -1).join("/"));
  return mutations.filter((_, index) => parents.indexOf(parents[index] ?? "") === index);
}

async function post(
  { call, name }: CaseWorld,
  subject: Subject,
  mutations: readonly Mutation[],
): Promise<void> {
  const ns = subject.namespaced ? sharedNamespace : name;
  const object = mutations.reduce(applied, richObject(subject, ns));
  await call("POST", `${collectionPath(subject, ns)}?dryRun=All`, object);
}

/** A value of another type hides all else that is wrong. */
function isOtherType(what: string): boolean {
  return /^is (a|an) (number|text|list|object)$/.test(what);
}

interface Mutation {
  readonly place: string;
  readonly path: readonly (string | number)[];
  readonly what: string;
  /** Absent: the place is removed. */
  readonly value?: unknown;
}

function mutationsOf(object: JsonObject): readonly Mutation[] {
  return placesOf(object, []).flatMap(({ path, value }) =>
    variants(value).map((variant) => ({ ...variant, path, place: written(path) })),
  );
}

function placesOf(
  value: unknown,
  path: readonly (string | number)[],
): readonly { path: readonly (string | number)[]; value: unknown }[] {
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : typeof value === "object" && value !== null
      ? Object.entries(value)
      : [];
  const own = path.length === 0 ? [] : [{ path, value }];
  return [...own, ...entries.flatMap(([key, item]) => placesOf(item, [...path, key]))];
}

function variants(value: unknown): readonly Pick<Mutation, "what" | "value">[] {
  const absent = { what: "is absent" };
  const changed = (what: string, to: unknown) => ({ what, value: to });
  if (typeof value === "string") {
    return [
      absent,
      changed("is empty", ""),
      changed("is not a name", "Not a_name!"),
      changed("is too long", longText),
      changed("is a number", 7),
    ];
  }
  if (typeof value === "number") {
    return [
      absent,
      changed("is zero", 0),
      changed("is negative", -1),
      changed("is huge", 70_000),
      changed("is a text", "seven"),
    ];
  }
  if (typeof value === "boolean") return [absent, changed("is a text", "yes")];
  if (Array.isArray(value)) {
    const [first] = value;
    return [
      absent,
      changed("is empty", []),
      changed("has its first twice", [...value, first]),
      changed("is an object", { a: "b" }),
    ];
  }
  return [absent, changed("is empty", {}), changed("is a text", "text"), changed("is a list", [])];
}

function applied(object: JsonObject, { path, value, ...rest }: Mutation): JsonObject {
  let parent: unknown = object;
  for (const step of path.slice(0, -1)) parent = childOf(parent, step);
  const last = path.at(-1) ?? "";
  if (Array.isArray(parent)) {
    if (rest.what === "is absent") parent.splice(Number(last), 1);
    else parent[Number(last)] = structuredClone(value);
  } else if (isObject(parent)) {
    if (rest.what === "is absent") delete parent[last];
    else parent[last] = structuredClone(value);
  }
  return object;
}

function childOf(value: unknown, step: string | number): unknown {
  if (Array.isArray(value)) return value[Number(step)];
  return isObject(value) ? value[step] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function written(path: readonly (string | number)[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .slice(1);
}
