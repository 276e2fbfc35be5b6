import { expect, test } from "vitest";
import { OwnerTurns } from "./owner-turns.ts";

test("owners take turns, however many things one has waiting, and each has a few under way", () => {
  const turns = new OwnerTurns<string>({ mostPerOwner: 2 });
  for (const one of ["a1", "a2", "a3", "a4"]) turns.add(one, "a");
  for (const one of ["b1", "b2"]) turns.add(one, "b");
  const first = turns.next();
  const taken = [first?.one, turns.next()?.one, turns.next()?.one, turns.next()?.one];
  expect(taken).toEqual(["a1", "b1", "a2", "b2"]);
  expect(turns.next()).toBeUndefined();
  if (first !== undefined) turns.ended(first);
  expect([turns.next()?.one, turns.next()]).toEqual(["a3", undefined]);
});

test("what two owners want waits in the lines of both", () => {
  const turns = new OwnerTurns<string>({ mostPerOwner: 1 });
  for (const one of ["a1", "both"]) turns.add(one, "a");
  turns.add("both", "b");
  expect([turns.next()?.one, turns.next()?.one]).toEqual(["a1", "both"]);
  turns.remove("both", "a");
  expect(turns.next()).toBeUndefined();
});
