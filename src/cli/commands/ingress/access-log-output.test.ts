import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { Environment } from "../../../environment/environment.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { AccessLogOutput, pendingMaxBytes } from "./access-log-output.ts";

const path = "/logs/access.log";

/** Longer than the file is looked at, and than lines are reported as dropped. */
const lookMs = 15_000;

interface Printed {
  readonly environment: Environment;
  readonly terminal: RecordedTerminal;
  readonly dropped: () => Promise<number>;
  /** The lines that were reported as dropped, each time. */
  readonly reported: () => readonly unknown[];
}

function whilePrinted(
  before: string | undefined,
  run: (printed: Printed) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("edge");
    const { files } = environment;
    await files.makeDirectory("/logs");
    if (before !== undefined) await files.write(path, before);
    const terminal = new RecordedTerminal();
    const counter = new Counter({ name: "dropped", help: "x", registers: [new Registry()] });
    const options = { ...environment, terminal, path, dropped: counter };
    const output = await AccessLogOutput.open(options);
    const stop = new AbortController();
    if (before === undefined) await files.write(path, "");
    const running = output.run(stop.signal);
    await simulation.sleep(1_000);
    await run({
      environment,
      terminal,
      dropped: async () => (await counter.get()).values[0]?.value ?? 0,
      reported: () => simulation.logLines().map(({ fields }) => fields["lines"]),
    });
    stop.abort(new Error("the end"));
    await running;
  });
}

test("prints whole lines, from the beginning of a new file and through its rotation", () =>
  whilePrinted(undefined, async ({ environment, terminal }) => {
    const { files, timers } = environment;
    await files.append(path, "one\ntw");
    await timers.sleep(lookMs);
    expect(terminal.out).toBe("one\n");
    await files.append(path, "o\n");
    await files.rename(path, `${path}.1`);
    await files.append(`${path}.1`, "three\n");
    await files.write(path, "four\n");
    await timers.sleep(lookMs);
    expect(terminal.out).toBe("one\ntwo\nthree\nfour\n");
  }));

test("does not print again what an earlier run has printed", () =>
  whilePrinted("old\n", async ({ environment, terminal }) => {
    await environment.files.append(path, "new\n");
    await environment.timers.sleep(lookMs);
    expect(terminal.out).toBe("new\n");
  }));

test("drops and counts whole lines while standard output is read too slowly", () =>
  whilePrinted(undefined, async ({ environment, terminal, dropped, reported }) => {
    const { files, timers } = environment;
    terminal.pendingBytes = pendingMaxBytes + 1;
    await files.append(path, "one\ntwo\nthr");
    await timers.sleep(lookMs);
    await files.append(path, "ee\n");
    await timers.sleep(lookMs);
    terminal.pendingBytes = 0;
    await files.append(path, "four\n");
    await timers.sleep(lookMs);
    expect(terminal.out).toBe("four\n");
    expect(await dropped()).toBe(3);
    expect(reported()).toEqual([2, 1]);
  }));
