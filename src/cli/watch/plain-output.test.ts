import { expect, test } from "vitest";
import { RecordedTerminal } from "../../environment/recorded-terminal.contract.ts";
import { simulate } from "../../simulation/simulation.ts";
import { PlainOutput } from "./plain-output.ts";
import { picture } from "./watched-changes.contract.ts";

test("a note is said once, however its figures grow", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("a");
    const terminal = new RecordedTerminal();
    let lines = 0;
    const output = new PlainOutput({
      ...host,
      terminal,
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
