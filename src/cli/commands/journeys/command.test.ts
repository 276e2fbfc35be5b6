import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  environment as real,
  record,
  stuckRecord,
  texts,
  writerOf,
} from "../../../../tests/history/history-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { HistoryWriter } from "../../../history/history-writer.ts";
import type { JourneyRecord } from "../../../timeline/journey-record.ts";
import { runProgram } from "../../program.ts";
import { typedCommand } from "../../typed-command.ts";

const nowMs = Date.UTC(2026, 2, 2, 0, 0, 40) as WallMs;

/** So long before now. */
const ago = (ms: number) => ({ originMs: (nowMs - ms) as WallMs });

const late: JourneyRecord["hops"] = [
  { hop: "pod", witness: "east", state: "shown", lagMs: 0 },
  { hop: "published", witness: "east", state: "shown", lagMs: 646_000 },
  { hop: "routed", witness: "edge-1", state: "shown", lagMs: 35 },
];

const kept: readonly JourneyRecord[] = [
  record(1, { ...ago(7_200_000), direction: "join", cause: "ready" }),
  record(2, { ...ago(120_000), service: "pay/\u001b[31mcards", hops: late }),
  record(3, { ...ago(90_000), cluster: "west", direction: "join", cause: "ready" }),
  record(4, { ...ago(60_000), outcome: "superseded" }),
  { ...stuckRecord(5), ...ago(31_000), outcome: "unknown" },
  { ...stuckRecord(6), ...ago(30_500) },
];

describe("lockstep journeys", () => {
  let folder: string;
  let path: string;
  let writer: HistoryWriter;

  beforeAll(async () => {
    folder = await real.files.temporaryDirectory("journeys-");
    path = `${folder}/lockstep/history.db`;
    await real.files.makeDirectory(`${folder}/lockstep`);
    writer = writerOf(path);
    writer.write(texts(...kept));
    writerOf(`${folder}/empty.db`).close();
  });

  afterAll(async () => {
    writer.close();
    await real.files.remove(folder);
  });

  async function run(...args: readonly string[]) {
    const terminal = new RecordedTerminal();
    const environment: Environment = {
      ...real,
      clock: { ...real.clock, wallMs: () => nowMs },
      processes: { ...real.processes, variables: { XDG_STATE_HOME: folder } },
    };
    const { signal: stop } = new AbortController();
    const code = await runProgram({ environment, terminal, stop }, "1.2.3", ["journeys", ...args]);
    return { code, out: terminal.out, error: terminal.error };
  }

  it("lists what was kept lately, with a line between days, and sums it up", async () => {
    const { code, out } = await run("--utc");
    expect(code).toBe(0);
    expect(Math.max(...out.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(out).toMatchInlineSnapshot(`
      "time     cluster endpoint         service       cause       published    routed
      2026-03-01
      23:58:40 east    −10.1.0.7        \\u{1b}[31mca… terminating   ▲10m46s     35 ms
      23:59:10 west    +10.1.0.7        shop/web      ready           20 ms     35 ms
      23:59:40 east    −10.1.0.7        shop/web      superseded      20 ms     35 ms
      2026-03-02
      00:00:09 east    −10.1.0.7        shop/web      unknown            ✗?     35 ms
      00:00:09 east    −10.1.0.7        shop/web      terminating  ✗30.5 s…     35 ms

      5 changes in the last 1h, 2 stuck, 1 superseded by the opposite change, 1 in
      flight, 1 unknown (the observer ended first).

      hop        removal     p50     p99     max addition     p50     p99     max
      pod              4       0       –       0        1       0       –       0
      published        2   20 ms       – ▲10m46s        1   20 ms       –   20 ms
      routed           4   35 ms       –   35 ms        1   35 ms       –   35 ms
      "
    `);
  });

  it("lists the slowest first, and says how many are left out", async () => {
    const { out } = await run("--utc", "--slowest", "--limit", "2", "--since", "1d");
    expect(out).toMatchInlineSnapshot(`
      "time     cluster endpoint         service       cause       published    routed
      00:00:09 east    −10.1.0.7        shop/web      terminating  ✗30.5 s…     35 ms
      00:00:09 east    −10.1.0.7        shop/web      unknown            ✗?     35 ms

      6 changes in the last 1d, 2 stuck, 1 superseded by the opposite change, 1 in
      flight, 1 unknown (the observer ended first).
      Only the slowest 2 are shown. Use --limit for more.

      hop        removal     p50     p99     max addition     p50     p99     max
      pod              4       0       –       0        2       0       –       0
      published        2   20 ms       – ▲10m46s        2   20 ms       –   20 ms
      routed           4   35 ms       –   35 ms        2   35 ms       –   35 ms
      "
    `);
  });

  it("prints the records themselves for machines, oldest first", async () => {
    const all = await run("--json", "--since", "1d");
    expect(records(all.out)).toEqual(kept);
    const last = await run("--json", "--limit", "2");
    expect(records(last.out)).toEqual(kept.slice(-2));
  });

  it.each<[readonly string[], readonly number[]]>([
    [["--stuck"], [5, 6]],
    [["--cluster", "west"], [3]],
    [
      ["--direction", "leave"],
      [2, 4, 5, 6],
    ],
    [
      ["--slower-than", "2s"],
      [2, 5, 6],
    ],
    [["--service", "shop/web", "--until", "1m"], [3]],
    [
      ["--since", "2026-03-01T23:59:30Z"],
      [4, 5, 6],
    ],
  ])("chooses by %j", async (flags, expected) => {
    const { out } = await run("--json", ...flags);
    expect(records(out)).toEqual(expected.map((number) => kept[number - 1]));
  });

  it("says what to do when nothing matches", async () => {
    expect((await run("--since", "10s")).out).toBe(
      "No change in the last 10s. The latest was 30.5 s ago. Use an earlier --since.\n",
    );
    expect((await run("--since", "2h", "--until", "90m", "--stuck")).out).toBe(
      "No matching change in the last 2h until 90m ago. The latest was 30.5 s ago. " +
        "Use other values of --since and --until.\n",
    );
    expect((await run("--cluster", "west", "--stuck")).out).toBe(
      "No matching change in the whole history. The latest change was 30.5 s ago.\n",
    );
    expect((await run("--history", `${folder}/empty.db`)).out).toBe(
      "The history is empty: no change has finished since it was created.\n",
    );
  });

  it("names the clusters and services there are when the one asked for is not among them", async () => {
    expect((await run("--cluster", "nosuch")).out).toBe(
      "The history has no change of cluster nosuch. Known names: east, west.\n",
    );
    expect((await run("--cluster", "wst", "--since", "7d", "--stuck")).out).toBe(
      "The history has no change of cluster wst. Similar names: west.\n",
    );
    expect((await run("--service", "shop/wbe")).out).toBe(
      "The history has no change of service shop/wbe. Similar names: shop/web.\n",
    );
    expect((await run("--service", "a/b\u001b[31m", "--cluster", "west")).out).toBe(
      "The history has no change of service a/b\\u{1b}[31m. Known names: " +
        "pay/\\u{1b}[31mcards, shop/web.\n",
    );
  });

  it("says what is wrong with what was asked", async () => {
    const missing = `${folder}/none.db`;
    const watch = typedCommand(real.processes, `watch --history ${missing}`);
    await expect(run("--history", missing)).rejects.toThrow(
      `there is no history at ${missing}. \`${watch}\` creates it.`,
    );
    expect((await run("--service", "web")).error).toContain(
      "argument 'web' is invalid. It must be namespace/name, such as shop/web.",
    );
    await expect(run("--until", "3h")).rejects.toThrow("--until 3h must be later than --since 1h.");
    const wrong = await run("--since", "10");
    expect(wrong.code).toBe(2);
    expect(wrong.error).toContain("or how long ago: 90s, 1h30m or 7d.");
  });
});

function records(text: string): readonly unknown[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
}
