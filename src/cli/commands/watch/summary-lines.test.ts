import { expect, test } from "vitest";
import {
  at,
  change,
  clusterOf,
  picture,
  tell,
  uncoloured,
} from "../../../../tests/cli/watched-changes.ts";
import { summaryLines } from "./summary-lines.ts";
import { WatchTally } from "./tally.ts";

const hour = 3_600_000;

const wide = { width: 250, slowMs: 2_000, utc: true, paint: uncoloured };

test("before any cluster was read nothing was seen, which is not that nothing happened", () => {
  const clusters = [clusterOf("alpha", { type: "connecting" })];
  expect(summaryLines(picture({ clusters }), wide)[1]).toBe("No result: no cluster could be read.");
  expect(summaryLines(picture(), wide)[1]).toBe("No endpoint was added or removed.");
});

test("the reason why some changes are in no figure is shown", () => {
  const tally = new WatchTally({ slowMs: 2_000 });
  tell(tally, change({ notBeforeMs: 0, hops: { pod: 0 } }));
  expect(summaryLines(picture({ tally }), wide).at(-1)).toBe(
    "· 1 change with an unknown start time: not in the numbers above. Causes: the change began before " +
      "watch started; it came from a list; the watch was less than 2 s old or was behind",
  );
});

test("at the end the figures since the start are there, however small the screen was", () => {
  const tally = new WatchTally({ slowMs: 2_000 });
  tell(tally, change({ id: 1, hops: { pod: 0, published: 40 } }));
  const shown = picture({
    tally,
    now: at(hour),
    oldest: [],
    unknown: new Map(["synced", "routed", "traffic"].map((hop) => [hop as "synced", "no"])),
  });
  const small = { width: 60, rows: 24, slowMs: 2_000, utc: true, paint: uncoloured };
  const lines = summaryLines(shown, small);
  expect(lines.slice(0, lines.indexOf("Slowest"))).toMatchInlineSnapshot(`
    [
      "Observed for 1 h.",
      "1 change, 1 complete, 0 slow (2 s or more), 0 in flight.",
      "",
      "hop                    p50     p99     max    oldest",
      "pod       removal        0     n=1       0         –",
      "pod       addition       –       –       –         –",
      " last 15m removal        –       –       –",
      " last 15m addition       –       –       –",
      "published removal    40 ms     n=1   40 ms         –",
      "published addition       –       –       –         –",
      " last 15m removal        –       –       –",
      " last 15m addition       –       –       –",
      "synced      ? no",
      "routed      ? no",
      "traffic     ? no",
      "",
    ]
  `);
});
