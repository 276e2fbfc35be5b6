import { expect, test } from "vitest";
import { change, uncoloured } from "../../../../tests/cli/watched-changes.ts";
import { KeptTally } from "./view.ts";

test("in few columns joins stand below leaves", () => {
  const tally = new KeptTally();
  tally.add(change({ hops: { pod: 0, published: 646_000 } }));
  tally.add(change({ hops: { pod: 0, published: 90 }, direction: "join" }));
  expect(tally.table({ width: 60, slowMs: 2_000, paint: uncoloured })).toMatchInlineSnapshot(`
    [
      "hop                 changes     p50     p99     max",
      "pod       removal         1       0       –       0",
      "pod       addition        1       0       –       0",
      "published removal         1 ▲10m46s       – ▲10m46s",
      "published addition        1   90 ms       –   90 ms",
    ]
  `);
  expect(tally.table({ width: 75, slowMs: 2_000, paint: uncoloured })).toMatchInlineSnapshot(`
    [
      "hop        removal     p50     p99     max addition     p50     p99     max",
      "pod              1       0       –       0        1       0       –       0",
      "published        1 ▲10m46s       – ▲10m46s        1   90 ms       –   90 ms",
    ]
  `);
});
