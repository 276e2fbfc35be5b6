// Only for tests: `lockstep serve` in virtual time, beside clusters that are nothing but their API
// servers.
import { runProgram } from "../../src/cli/program.ts";
import { kubeconfig } from "../cli/watch-command.ts";
import type { ObserverWorld } from "../observer/observer-world.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";
import { PageClient } from "./page-client.ts";

export interface ServedPage {
  readonly client: PageClient;
  readonly terminal: RecordedTerminal;
  /** As printed. */
  readonly address: string;
}

const pollMs = 10;

/** Runs the command until what happens meanwhile is over; returns its exit code. */
export async function lockstepServe(
  world: ObserverWorld,
  args: readonly string[],
  meanwhile: (page: ServedPage) => Promise<void>,
): Promise<number> {
  const environment = world.simulation.host("lockstep");
  await environment.files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const context = { environment, terminal, stop: stop.signal };
  const running = runProgram(context, "1.2.3", ["serve", ...args]);
  const started = Promise.race([
    running.then(() => Promise.reject(new Error(`serve ended: ${terminal.error}`))),
    addressOf(environment.timers, terminal),
  ]);
  try {
    const address = await started;
    const { origin } = new URL(address);
    await meanwhile({ client: new PageClient(environment.network, origin), terminal, address });
  } finally {
    stop.abort(new Error("stopped by the test"));
  }
  return await running;
}

async function addressOf(
  timers: { sleep(ms: number): Promise<void> },
  terminal: RecordedTerminal,
): Promise<string> {
  for (;;) {
    const [, address] = /^Page: (\S+)$/m.exec(terminal.out) ?? [];
    if (address !== undefined) return address;
    await timers.sleep(pollMs);
  }
}
