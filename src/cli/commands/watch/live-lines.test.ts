import { expect, test } from "vitest";
import {
  at,
  change,
  clusterOf,
  picture,
  tell,
  uncoloured,
} from "../../../../tests/cli/watched-changes.ts";
import type { Hop } from "../../../timeline/witness.ts";
import { textColumns } from "../../terminal/text.ts";
import { changeColumns } from "./change-line.ts";
import { liveLines } from "./live-lines.ts";
import { WatchTally } from "./tally.ts";
import type { Picture } from "./view.ts";

const unknown: ReadonlyMap<Hop, string> = new Map([
  ["synced", "no copies were seen in alpha"],
  ["routed", "no proxy given: use --proxy URL"],
  ["traffic", "no access log given: use --access-log FILE"],
]);

function drawn(shown: Picture, { width = 80, rows = 24 } = {}): readonly string[] {
  const clusters = shown.clusters.map(({ cluster }) => cluster);
  const columns = changeColumns({ width, hops: ["published", "routed"], clusters });
  const lines = liveLines(shown, {
    width,
    rows,
    columns,
    slowMs: 2_000,
    utc: true,
    paint: uncoloured,
  });
  expect(Math.max(...lines.map(textColumns))).toBeLessThanOrEqual(width);
  expect(lines.length).toBeLessThan(rows);
  return lines;
}

function busyTally(): WatchTally {
  const tally = new WatchTally({ slowMs: 2_000 });
  for (let id = 1; id <= 100; id += 1) {
    const published = id === 100 ? 646_000 : id * 10;
    tell(
      tally,
      change({ id, hops: { pod: 0, published }, direction: id % 4 === 0 ? "join" : "leave" }),
    );
  }
  tell(tally, change({ id: 101, outcome: "superseded", hops: { pod: 0, published: "passed" } }));
  tell(
    tally,
    change({
      id: 102,
      outcome: "pending",
      originMs: 55_900,
      hops: { pod: 0, published: "pending" },
    }),
  );
  return tally;
}

test("before anything has happened it says so in figures, and what would make hops known", () => {
  expect(drawn(picture({ unknown, now: at(3_400) }))).toMatchInlineSnapshot(`
    [
      "time     endpoint         service              cause       published    routed",
      "── lockstep watch · 3 s · 0 changes ────────────────────────────────────────────",
      "             removal                           addition",
      "hop           p50     p99     max    oldest     p50     p99     max    oldest",
      "pod             –       –       –         –       –       –       –         –",
      "published       –       –       –         –       –       –       –         –",
      "synced      ? no copies were seen in alpha",
      "routed      ? no proxy given: use --proxy URL",
      "traffic     ? no access log given: use --access-log FILE",
    ]
  `);
});

test("below the changes in flight stand the lags of all hops and the oldest change they lack", () => {
  const oldest = [
    { cluster: "alpha", hop: "published", direction: "leave", ageMs: 4_100 },
    { cluster: "beta", hop: "published", direction: "leave", ageMs: 900 },
  ] as const;
  const clusters = [
    clusterOf("alpha"),
    clusterOf("beta", { type: "unreachable", since: at(48_000), detail: "connection refused" }),
    { ...clusterOf("gamma"), doubts: ["the watch of pods in gamma is stale, so …"] },
    clusterOf("delta", { type: "listing", listed: 2, of: 4 }),
  ];
  const shown = picture({ tally: busyTally(), oldest, clusters, unknown });
  expect(drawn(shown)).toMatchInlineSnapshot(`
    [
      "time     cluster endpoint         service       cause       published    routed",
      "20:31:55 alpha   −10.0.0.7        shop/web      terminating   ▲4.1 s…         ?",
      "── lockstep watch · 1 min · 102 changes · 1 in flight · ▲ 1 slow ───────────────",
      "             removal                           addition",
      "hop           p50     p99     max    oldest     p50     p99     max    oldest",
      "pod             0    n=77       0         –       0    n=25       0         –",
      "published  500 ms    n=75  990 ms   ▲4.1 s…  520 ms    n=25 ▲10m46s         –",
      "synced      ? no copies were seen in alpha",
      "routed      ? no proxy given: use --proxy URL",
      "traffic     ? no access log given: use --access-log FILE",
      "● alpha watching · oldest 4.1 s… · 102 changes",
      "✗ beta  unreachable for 12 s: connection refused",
      "! gamma the watch of pods in gamma is stale, so …",
      "◐ delta listing, 2 of 4 done · 0 changes",
    ]
  `);
});

test("on a narrow screen leaves and joins stand below each other", () => {
  expect(drawn(picture({ tally: busyTally(), unknown }), { width: 60 })).toMatchInlineSnapshot(`
    [
      "time     endpoint         service  cause published    routed",
      "20:31:55 −10.0.0.7        shop/web term…   ▲4.1 s…         ?",
      "── lockstep watch · 1 min · 102 changes · 1 in flight ──────",
      "hop                    p50     p99     max    oldest",
      "pod       removal        0    n=77       0         –",
      "pod       addition       0    n=25       0         –",
      "published removal   500 ms    n=75  990 ms         –",
      "published addition  520 ms    n=25 ▲10m46s         –",
      "synced      ? no copies were seen in alpha",
      "routed      ? no proxy given: use --proxy URL",
      "traffic     ? no access log given: use --access-log FILE",
    ]
  `);
});

test("on a low screen the changes come first", () => {
  expect(drawn(picture({ tally: busyTally(), unknown }), { rows: 8 })).toMatchInlineSnapshot(`
    [
      "time     endpoint         service              cause       published    routed",
      "20:31:55 −10.0.0.7        shop/web             terminating   ▲4.1 s…         ?",
      "── lockstep watch · 1 min · 102 changes · 1 in flight · ▲ 1 slow ───────────────",
    ]
  `);
});

test("a low screen says too that a cluster is not heard, and the last note", () => {
  const down = { type: "unreachable", since: at(48_000), detail: "connection refused" } as const;
  const clusters = [clusterOf("alpha"), clusterOf("beta", down), clusterOf("gamma", down)];
  const notes = ["an older note", "the history cannot be written: its disk is full"];
  expect(drawn(picture({ clusters, notes }), { rows: 8 }).slice(-3)).toEqual([
    "── lockstep watch · 1 min · 0 changes ──────────────────────────────────────────",
    "✗ beta unreachable for 12 s: connection refused",
    "! the history cannot be written: its disk is full",
  ]);
});

test("on a narrow screen what is stuck has its room before all others", () => {
  const tally = busyTally();
  const stuck = change({ id: 500, outcome: "pending", hops: { pod: 0, published: "stuck" } });
  for (const hop of stuck.hops.slice(1)) tally.onEvent({ type: "stuck", journey: stuck, hop });
  const titles = [60, 50].map((width) => drawn(picture({ tally }), { width, rows: 8 }).at(-1));
  expect(titles).toEqual([
    "── lockstep watch · 1 min · 103 changes · ✗ 1 stuck ────────",
    "── lockstep watch · 1 min · ✗ 1 stuck · ▲ 1 slow ─",
  ]);
});

test("a crowd in flight is its oldest, and the largest groups", () => {
  const tally = new WatchTally({ slowMs: 2_000 });
  for (let id = 1; id <= 1_000; id += 1) {
    const address = `10.0.${Math.floor(id / 250)}.${id % 250}`;
    const service = id % 10 === 0 ? "shop/cart" : "shop/web";
    const published = id <= 37 ? 9 : ("pending" as const);
    const hops = { pod: 0, published, routed: id % 2 === 0 ? 12 : ("pending" as const) };
    tell(tally, change({ id, address, service, outcome: "pending", originMs: 59_000, hops }));
  }
  expect(drawn(picture({ tally }))).toMatchInlineSnapshot(`
    [
      "time     endpoint         service              cause       published    routed",
      "20:31:59 −10.0.0.1        shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.3        shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.5        shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.7        shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.9        shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.11       shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.13       shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.15       shop/web             terminating      9 ms      1 s…",
      "20:31:59 −10.0.0.17       shop/web             terminating      9 ms      1 s…",
      "group    −885 endpoints   shop/web             terminating    19/885   385/885",
      "group    −97 endpoints    shop/cart            terminating      0/97     97/97",
      "── lockstep watch · 1 min · 1,000 changes · 982 in flight ──────────────────────",
      "             removal                           addition",
      "hop           p50     p99     max    oldest     p50     p99     max    oldest",
      "pod             0       0       0         –       –       –       –         –",
      "published    9 ms    n=37    9 ms         –       –       –       –         –",
      "synced          –       –       –         –       –       –       –         –",
      "routed      12 ms   12 ms   12 ms         –       –       –       –         –",
      "traffic         –       –       –         –       –       –       –         –",
    ]
  `);
});

test("of many clusters those in trouble are named", () => {
  const clusters = Array.from({ length: 12 }, (_, index) =>
    clusterOf(
      `prod-${index + 1}`,
      index === 9 ? { type: "refused", detail: "forbidden" } : undefined,
    ),
  );
  expect(drawn(picture({ clusters, unknown }), { rows: 30 }).slice(-7)).toMatchInlineSnapshot(`
    [
      "traffic     ? no access log given: use --access-log FILE",
      "✗ prod-10 refused: forbidden",
      "● prod-1  watching · 0 changes",
      "● prod-2  watching · 0 changes",
      "● prod-3  watching · 0 changes",
      "● prod-4  watching · 0 changes",
      "and 7 more clusters; up to date: 11 of all",
    ]
  `);
});

test("the footer stays where it is while there is less to show", () => {
  const width = 80;
  const columns = changeColumns({ width, hops: ["published", "routed"], clusters: ["alpha"] });
  const options = { width, rows: 24, columns, slowMs: 2_000, utc: true, paint: uncoloured };
  const before = liveLines(picture({ tally: busyTally(), unknown }), options);
  const after = liveLines(picture({ unknown }), options, before.length);
  expect(after.length).toBe(before.length);
  expect(after[1]).toBe("");
  expect(liveLines(picture({ unknown }), options, 1_000).length).toBe(23);
});
