import { expect, test } from "vitest";
import { at } from "../../tests/cli/watched-changes.ts";
import { stateAt } from "../../tests/page/page-answers.ts";
import type { Cluster } from "./api.ts";
import { ClusterOutages } from "./cluster-outages.ts";

const [first] = stateAt(0).clusters;

function being(state: Cluster["state"]): Cluster[] {
  return first === undefined ? [] : [{ ...first, name: "east", state }];
}

test("an outage is noted when it is over, for a minute", () => {
  const outages = new ClusterOutages();
  outages.look(being("watching"), at(0));
  outages.look(being("unreachable"), at(1_000));
  outages.look(being("unreachable"), at(2_000));
  // It lists again before it watches.
  outages.look(being("listing"), at(3_000));
  expect(outages.notes(at(3_000))).toEqual([]);
  outages.look(being("watching"), at(4_500));
  const note = "east answers again. It did not for 3.5 s.";
  expect(outages.notes(at(4_500))).toEqual([note]);
  expect(outages.notes(at(64_500))).toEqual([note]);
  expect(outages.notes(at(64_501))).toEqual([]);
});

test("a cluster that never watched has no outage to note", () => {
  const outages = new ClusterOutages();
  outages.look(being("connecting"), at(0));
  outages.look(being("watching"), at(5_000));
  expect(outages.notes(at(5_000))).toEqual([]);
});
