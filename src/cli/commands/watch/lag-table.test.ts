import { expect, test } from "vitest";
import { at, change, picture, tell, uncoloured } from "../../../../tests/cli/watched-changes.ts";
import { lagTable } from "./lag-table.ts";
import { WatchTally } from "./tally.ts";

const hour = 3_600_000;

/** A slow leave three days ago, and a quick one just now; a join that is long over. */
function longTally(): WatchTally {
  const tally = new WatchTally({ slowMs: 2_000 });
  tell(tally, change({ id: 1, hops: { pod: 0, published: 646_000 } }));
  tell(tally, change({ id: 2, hops: { pod: 0, published: 90 }, direction: "join" }));
  tell(tally, change({ id: 3, hops: { pod: 0, published: 40 }, originMs: 71.9 * hour }));
  return tally;
}

function table(afterMs: number, size: { readonly width: number; readonly rows?: number }) {
  const shown = picture({
    tally: longTally(),
    now: at(afterMs),
    oldest: [{ cluster: "alpha", hop: "published", direction: "leave", ageMs: 1_500 }],
    unknown: new Map(["synced", "routed", "traffic"].map((hop) => [hop as "synced", "no"])),
  });
  return lagTable(shown, { ...size, slowMs: 2_000, paint: uncoloured });
}

test("a view that is left open for days shows the last quarter of an hour below all", () => {
  expect(table(72 * hour, { width: 80, rows: 40 })).toMatchInlineSnapshot(`
    [
      "             removal                           addition",
      "hop           p50     p99     max    oldest     p50     p99     max    oldest",
      "pod             0     n=2       0         –       0     n=1       0         –",
      " last 15m       0     n=1       0                 –       –       –",
      "published   40 ms     n=2 ▲10m46s    1.5 s…   90 ms     n=1   90 ms         –",
      " last 15m   40 ms     n=1   40 ms                 –       –       –",
      "synced      ? no",
      "routed      ? no",
      "traffic     ? no",
    ]
  `);
});

test("with fewer rows only the last quarter of an hour is shown, and that it is", () => {
  expect(table(72 * hour, { width: 80, rows: 24 })).toMatchInlineSnapshot(`
    [
      "last 15m     removal                           addition",
      "hop           p50     p99     max    oldest     p50     p99     max    oldest",
      "pod             0     n=1       0         –       –       –       –         –",
      "published   40 ms     n=1   40 ms    1.5 s…       –       –       –         –",
      "synced      ? no",
      "routed      ? no",
      "traffic     ? no",
    ]
  `);
  expect(table(72 * hour, { width: 60, rows: 24 })).toMatchInlineSnapshot(`
    [
      "hop    last 15m        p50     p99     max    oldest",
      "pod       removal        0     n=1       0         –",
      "pod       addition       –       –       –         –",
      "published removal    40 ms     n=1   40 ms    1.5 s…",
      "published addition       –       –       –         –",
      "synced      ? no",
      "routed      ? no",
      "traffic     ? no",
    ]
  `);
});

test("in the first quarter of an hour there is nothing else than since the start", () => {
  expect(table(14 * 60_000, { width: 60 })).toMatchInlineSnapshot(`
    [
      "hop                    p50     p99     max    oldest",
      "pod       removal        0     n=2       0         –",
      "pod       addition       0     n=1       0         –",
      "published removal    40 ms     n=2 ▲10m46s    1.5 s…",
      "published addition   90 ms     n=1   90 ms         –",
      "synced      ? no",
      "routed      ? no",
      "traffic     ? no",
    ]
  `);
});
