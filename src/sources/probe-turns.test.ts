import { expect, test } from "vitest";
import { maxAtOnce, maxPerNode, ProbeTurns } from "./probe-turns.ts";

interface One {
  readonly namespace: string;
  readonly target: { cluster: string; address: string; port: number; node?: string };
}

function one(cluster: string, address: string, node?: string, namespace = "shop"): One {
  const target = { cluster, address, port: 80, ...(node === undefined ? {} : { node }) };
  return { namespace, target };
}

function taken(turns: ProbeTurns<One>, count: number): readonly string[] {
  return Array.from({ length: count }, () => turns.next()?.target.address ?? "none");
}

test("clusters take turns, and those never asked come first", () => {
  const turns = new ProbeTurns<One>();
  for (const name of ["e1", "e2", "e3"]) turns.add(one("east", name), { isFirst: false });
  turns.add(one("west", "w1"), { isFirst: false });
  turns.add(one("east", "new"), { isFirst: true });
  expect(taken(turns, 6)).toEqual(["new", "w1", "e1", "e2", "e3", "none"]);
  expect(turns.isWaiting).toBe(false);
});

test("a machine is asked for a few of its pods at a time, and others are not kept waiting", () => {
  const turns = new ProbeTurns<One>();
  const pods = Array.from({ length: maxPerNode + 2 }, (_, index) => one("east", `p${index}`, "n1"));
  for (const each of pods) turns.add(each, { isFirst: true });
  turns.add(one("east", "other", "n2"), { isFirst: true });
  expect(taken(turns, maxPerNode)).toEqual(
    pods.slice(0, maxPerNode).map(({ target }) => target.address),
  );
  expect(taken(turns, 2)).toEqual(["other", "none"]);
  const [first, second] = pods;
  if (first !== undefined) turns.ended(first);
  expect(taken(turns, 2)).toEqual([`p${maxPerNode}`, "none"]);
  const last = pods.at(-1);
  if (last !== undefined) turns.remove(last);
  if (second !== undefined) turns.ended(second);
  expect(taken(turns, 1)).toEqual(["none"]);
});

test("no more are under way at once than there may be", () => {
  const turns = new ProbeTurns<One>();
  for (let index = 0; index <= maxAtOnce; index += 1) {
    turns.add(one("east", `p${index}`), { isFirst: true });
  }
  expect(taken(turns, maxAtOnce + 1).filter((name) => name !== "none")).toHaveLength(maxAtOnce);
  expect(turns.isWaiting).toBe(false);
  turns.ended(one("east", "p0"));
  expect([turns.isWaiting, taken(turns, 2)]).toEqual([true, [`p${maxAtOnce}`, "none"]]);
});

test("one that is removed is never asked", () => {
  const turns = new ProbeTurns<One>();
  const gone = one("east", "gone");
  turns.add(gone, { isFirst: true });
  turns.add(one("east", "there"), { isFirst: true });
  turns.remove(gone);
  expect(taken(turns, 2)).toEqual(["there", "none"]);
});

test("namespaces of a cluster take turns, and share no machine's places", () => {
  const turns = new ProbeTurns<One>();
  const pods = Array.from({ length: 3 * maxPerNode }, (_, index) => `p${index}`);
  for (const name of pods) turns.add(one("east", name, "n1", "loud"), { isFirst: true });
  for (const name of ["q1", "q2"]) turns.add(one("east", name, "n1", "quiet"), { isFirst: false });
  expect(taken(turns, 4)).toEqual(["p0", "q1", "p1", "q2"]);
  taken(turns, maxPerNode);
  turns.add(one("east", "q3", "n1", "quiet"), { isFirst: false });
  expect(taken(turns, 2)).toEqual(["q3", "none"]);
});
