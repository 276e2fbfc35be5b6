import { expect, test } from "vitest";
import { change, picture, run } from "../../../../tests/cli/watched-changes.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { PlainOutput } from "./plain-output.ts";

test("what waits only for requests at the end has its line too", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("a");
    const terminal = new RecordedTerminal();
    const now = host.clock.monotonicMs();
    const output = new PlainOutput({
      ...host,
      terminal,
      run,
      picture: () => picture({ now }),
      slowMs: 2_000,
      utc: true,
    });
    output.start();
    const hops = { pod: 0, published: 40, traffic: "pending" } as const;
    const journey = change({ outcome: "pending", originMs: now, hops });
    for (const hop of journey.hops.slice(0, 2)) output.onEvent({ type: "shown", journey, hop });
    expect(terminal.out).toBe("");
    output.end();
    expect(terminal.out).toBe(
      "2026-11-15T20:31:00.000Z alpha terminating −10.0.0.7 shop/web  " +
        "pod 0 · published 40 ms · routed ? · traffic …\n",
    );
  }));

test("a note is printed once, however its figures grow", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("a");
    const terminal = new RecordedTerminal();
    let lines = 0;
    const output = new PlainOutput({
      ...host,
      terminal,
      run,
      picture: () => {
        lines += 7;
        const log = `access log -: ${lines - 1} of ${lines} lines were not understood`;
        return picture({ notes: [log, "proxy 10.0.0.1:80\u001b[2J does not tell"] });
      },
      slowMs: 2_000,
      utc: true,
    });
    output.start();
    await host.timers.sleep(5_500);
    expect(terminal.error).toBe(
      "alpha: watching\n" +
        "note: access log -: 6 of 7 lines were not understood\n" +
        "note: proxy 10.0.0.1:80\\u{1b}[2J does not tell\n",
    );
    output.end();
  }));

test("a trouble that is over is printed again when it comes back, and not when it comes and goes", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("a");
    const terminal = new RecordedTerminal();
    const silent = "proxy 10.0.0.1:80 does not tell what it routes to";
    let notes = [silent];
    const output = new PlainOutput({
      ...host,
      terminal,
      run,
      picture: () => picture({ now: host.clock.monotonicMs(), notes }),
      slowMs: 2_000,
      utc: true,
    });
    output.start();
    for (let second = 0; second < 20; second += 1) {
      notes = second % 2 === 0 ? [] : [silent];
      await host.timers.sleep(1_000);
    }
    notes = [];
    expect(terminal.error).toBe(`alpha: watching\nnote: ${silent}\n`);
    await host.timers.sleep(3_600_000);
    notes = [silent];
    await host.timers.sleep(5_000);
    expect(terminal.error).toBe(`alpha: watching\nnote: ${silent}\nnote: ${silent}\n`);
    output.end();
  }));

test("a line is written without a look at everything else", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("a");
    const terminal = new RecordedTerminal();
    let looks = 0;
    const output = new PlainOutput({
      ...host,
      terminal,
      run,
      picture: () => {
        looks += 1;
        return picture();
      },
      slowMs: 2_000,
      utc: true,
    });
    for (let id = 1; id <= 3; id += 1) output.onEvent({ type: "over", journey: change({ id }) });
    expect(terminal.out.split("\n")).toHaveLength(4);
    expect(looks).toBe(0);
  }));
