import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Projected } from "../kinds/kind.ts";
import { Store } from "./store.ts";

interface Thing extends Projected {
  readonly tags: readonly string[];
}

function thing(name: string, version: number, tags: readonly string[] = [], uid = "u"): Thing {
  return {
    metadata: {
      namespace: "ns",
      name,
      uid,
      resourceVersion: String(version),
      creationTimestamp: undefined,
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
      labels: {},
    },
    tags,
  };
}

function newStore() {
  return new Store<Thing, "tag" | "first" | "any">({
    indexes: {
      tag: (one) => one.tags,
      first: (one) => one.tags[0],
      any: (one) => ({ anyOf: one.tags }),
    },
  });
}

function namesOf(things: Iterable<Thing>): readonly string[] {
  return [...things].map((one) => one.metadata.name).sort();
}

describe("replacing", () => {
  test("says what was deleted, added and updated, and is silent about what stayed", () => {
    const store = newStore();
    const [a, b, c] = [thing("a", 1), thing("b", 2), thing("c", 3, [], "old")];
    store.replace([a, b, c]);
    const [b2, c2, d] = [thing("b", 5), thing("c", 6, [], "new"), thing("d", 7)];
    expect(store.replace([thing("a", 1), b2, c2, d])).toEqual([
      { type: "updated", object: b2, previous: b, learntBy: "list" },
      { type: "deleted", object: c, finalStateUnknown: true, learntBy: "list" },
      { type: "added", object: c2, learntBy: "list" },
      { type: "added", object: d, learntBy: "list" },
    ]);
    expect(store.get("ns", "a")).toBe(a);
    expect(store.replace([d])).toEqual(
      [a, b2, c2].map((object) => ({
        type: "deleted",
        object,
        finalStateUnknown: true,
        learntBy: "list",
      })),
    );
  });

  test("changes nothing before the commit, and an abandoned one never does", () => {
    const store = newStore();
    store.replace([thing("a", 1, ["x"])]);
    const replacement = store.startReplacement();
    replacement.add(thing("b", 2, ["x"]));
    expect([namesOf(store), namesOf(store.byIndex("tag", "x"))]).toEqual([["a"], ["a"]]);
    replacement.remove("ns", "b");
    replacement.keep("ns", "a");
    replacement.keep("ns", "unknown");
    expect(replacement.commit()).toEqual([]);
    expect(namesOf(store)).toEqual(["a"]);
  });
});

test("a snapshot does not change with the store", () => {
  const store = newStore();
  const [a, b] = [thing("a", 1), thing("b", 2)];
  store.set(a);
  const snapshot = store.snapshot();
  store.set(b);
  store.delete("ns", "a");
  expect([snapshot, store.snapshot(), store.size]).toEqual([[a], [b], 1]);
});

test("every index always finds exactly the objects that have the value", () => {
  const tag = fc.constantFrom("x", "y", "z");
  const command = fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    tags: fc.array(tag, { maxLength: 4 }),
    action: fc.constantFrom("set", "set", "delete", "replace"),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
      const store = newStore();
      let version = 0;
      for (const { name, tags, action } of commands) {
        version += 1;
        if (action === "set") {
          store.set(thing(name, version, tags));
        } else if (action === "delete") {
          store.delete("ns", name);
        } else {
          store.replace([...store].filter((one) => one.metadata.name !== name));
        }
        for (const value of ["x", "y", "z"]) {
          const all = store.snapshot();
          const having = all.filter((one) => one.tags.includes(value));
          const leading = all.filter((one) => one.tags[0] === value);
          expect(namesOf(store.byIndex("tag", value))).toEqual(namesOf(having));
          expect(namesOf(store.byIndex("first", value))).toEqual(namesOf(leading));
        }
        expect(namesOf(store.inNamespace("ns"))).toEqual(namesOf(store));
        const tagged = store.snapshot().filter((one) => one.tags.length > 0);
        const underOne = ["x", "y", "z"].flatMap((value) => [...store.byIndex("any", value)]);
        expect(namesOf(underOne)).toEqual(namesOf(tagged));
        for (const value of ["x", "y", "z"]) {
          const found = [...store.byIndex("any", value)];
          expect(found.filter((one) => !one.tags.includes(value))).toEqual([]);
        }
      }
    }),
  );
});

test("what may be found by any of its values is under the one that the fewest have", () => {
  const store = newStore();
  for (let index = 0; index < 100; index += 1) {
    store.set(thing(`thing-${index}`, index, ["common", `own-${index}`]));
  }
  expect(namesOf(store.byIndex("any", "common"))).toEqual(["thing-0"]);
  store.set(thing("thing-7", 200, ["common", "own-7", "another"]));
  expect(namesOf(store.byIndex("any", "own-7"))).toEqual(["thing-7"]);
});
