import { expect, test } from "vitest";
import { result, throttled } from "../../../../tests/incident/incident-result.ts";
import { paintFor } from "../../terminal/paint.ts";
import { resultLines } from "./view.ts";

const plain = paintFor({ colours: false });

test("a result is its timeline, its figures, what it meant, its charts and what was fitted", () => {
  const lines = resultLines(throttled, result, { width: 80, paint: plain });
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    throttled-controller
    After a release, requests go to pods that are gone.
      cause  The limit of the controller manager is used up, and so changes wait in
             its queue for long.
      fix    --kube-api-qps=300 --kube-api-burst=325
    2 min 53 s of simulated time, seed 7
    ✗ Simulation matches the reference in 1 of 2 numbers (failed: PUT requests per
      resync). Lockstep met 2 of 3 goals (failed: requests lost).

    What happened (h:mm:ss of simulated time)
      1  0:00:00 the controllers start
      2  0:00:30 release 1: every pod of the shop is replaced, and this text is long
      3  0:01:30 release 1 has reached every replica
      4  0:01:30 and a moment later the play is over
      another cluster, from 0:00:00
      5  0:00:01 on another stage it begins again

    Numbers
                                  this run  reference         bounds
      drain time               10 min 48 s  10–12 min         ✓ 10 min to 12 min
                                            647–649 s (real)  ✓ 10 min 47 s to
                                                              10 min 49 s
      PUT requests per resync       11,000  12,954            ✗ outside, −15 %:
                                                              exactly 12,954
      highest rate                  42.6/s
      what was not seen                  –  some
      reference (real): measured with the real binaries of that version

    Numbers that follow from an assumption (not compared)
                              this run  reference         assumption
      between two resyncs           ×2  ≈ 1.37            resync factor 2

    Effect on traffic and goals
                                  stock (model)       Lockstep  goal for Lockstep
      slowest removal at a proxy     1 min 14 s       0.583 ms  ✓ as in quiet times
      requests sent                       1,338          1,338
      requests lost                         853              2  ✗ none
      until the ghost is named                –            2 s  ✓ at once

    keys in the queue · highest 1,200
          1,200 ┤█▇▇▆▆▆▅▅▄▄▃▃▂▂▁▁
                ┤██████████████████▇▇▆▆▅▅▅▄▃▃▃▂▂▁▁
                ┤███████████████████████████████████▇▇▆▆▅▅▅▄▃▃▃▂▂▁▁
              0 ┤████████████████████████████████████████████████████▇▇▆▆▅▅▄▄▃▃▂▂▂▁▁

    requests lost · highest stock (model) 853 · Lockstep 2
            853 ┤                                 ██████████████████████████████████
          stock ┤                ███████████████████████████████████████████████████
            853 ┤
       Lockstep ┤▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁

    flaps · none

    lag of each change, on a logarithmic scale
      + published · ○ routed, stock (model) · ● routed, Lockstep · ◆ several at once
          1 min ┤                 ◆
           10 s ┤                                 ○
            1 s ┤
         100 ms ┤
          10 ms ┤                                 ●
           1 ms ┤                 ●
                └1───────────────2─────────────────────────────────3────────────────
                 0               30 s             1 min            1 min 30 s

    on another stage · highest 2
              2 ┤                                                                  █
                ┤                                                                  █
                ┤███████████████████████████████████████████████████████████████████
              0 ┤███████████████████████████████████████████████████████████████████
                └5──────────────────────────────────────────────────────────────────
                 0           3 h         6 h         9 h         12 h        15 h

    Assumptions (not in the incident report)
      · 1,200 services, and this sentence is longer than a line
    "
  `);
});

test("nothing is wider than asked, and colours change nothing but colours", () => {
  const coloured = paintFor({ colours: true });
  for (const width of [80, 100, 120]) {
    const lines = resultLines(throttled, result, { width, paint: plain });
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(width);
    const painted = resultLines(throttled, result, { width, paint: coloured });
    expect(painted).not.toEqual(lines);
    expect(painted.map(withoutColours)).toEqual(lines);
  }
});

test("with the fix the fix is named, and what a result does not have is left out", () => {
  const bare = { timeline: [], figures: [], measures: [], series: [], fitted: [] };
  const fixed = { ...result, ...bare, isFixed: true, stage: "live" as const };
  expect(resultLines(throttled, fixed, { width: 80, paint: plain })).toEqual([
    "throttled-controller, with the fix",
    "With the fix: --kube-api-qps=300 --kube-api-burst=325.",
    "2 min 53 s of real time",
  ]);
});

/** Every colour is an escape, a bracket, a number and an `m`. */
function withoutColours(line: string): string {
  const [first = "", ...rest] = line.split("\u001b[");
  return first + rest.map((part) => part.replace(/^\d+m/, "")).join("");
}
