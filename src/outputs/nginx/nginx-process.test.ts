import { expect, test } from "vitest";
import type { Processes } from "../../environment/processes.ts";
import { simulate } from "../../simulation/simulation.ts";
import { NginxProcess } from "./nginx-process.ts";

const pid = 42;

/** A machine with one process, as `/proc` shows it, and signals do nothing by themselves. */
function onMachine(
  run: (machine: {
    readonly nginx: NginxProcess;
    readonly says: (commandLine: string, stat: string) => Promise<void>;
    readonly signals: readonly string[];
    readonly after: (ms: number) => Promise<void>;
    readonly now: () => number;
  }) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("here");
    const { files } = host;
    const signals: string[] = [];
    await files.makeDirectory(`/proc/${pid}`);
    const { pid: ownPid, isRoot, self, variables } = host.processes;
    const processes: Processes = {
      pid: ownPid,
      isRoot,
      self,
      variables,
      spawn: (...args) => host.processes.spawn(...args),
      run: (...args) => host.processes.run(...args),
      isAlive: () => true,
      kill: (_, signal) => void signals.push(signal),
    };
    const nginx = new NginxProcess({
      ...host,
      processes,
      prefix: "/run/lockstep",
      program: "/usr/sbin/nginx",
    });
    await run({
      nginx,
      says: async (commandLine, stat) => {
        await files.write(`/proc/${pid}/cmdline`, commandLine);
        await files.write(`/proc/${pid}/stat`, stat);
      },
      signals,
      after: (ms) => simulation.sleep(ms),
      now: () => simulation.now(),
    });
  });
}

test("one that ends is there until its sockets are closed, though it has no command line", () =>
  onMachine(async ({ nginx, says, signals, after, now }) => {
    await says("nginx: master process", `${pid} (nginx) S 1`);
    const ending = nginx.endNow([pid]);
    await after(100);
    await says("", `${pid} (nginx) R 1`);
    await after(200);
    await says("", `${pid} (nginx) Z 1`);
    await ending;
    expect(signals).toEqual(["SIGTERM"]);
    expect(now()).toBeGreaterThanOrEqual(300);
    expect(now()).toBeLessThan(400);
  }));

test.each([
  ["nginx: worker process", `${pid} (nginx) S 1`, true],
  ["/usr/bin/sleep\0 60", `${pid} (sleep) S 1`, false],
  ["", `${pid} (nginx) R 1`, true],
  ["", `${pid} (nginx) Z 1`, false],
  // Other processes without a command line, such as those of the kernel.
  ["", `${pid} (kworker/0:1) I 2`, false],
  ["", `${pid} (a (nginx) R) S 1`, false],
])("a process with the command line %j and the state %j is nginx: %s", (line, stat, isNginx) =>
  onMachine(async ({ nginx, says }) => {
    await says(line, stat);
    expect(await nginx.isNginx(pid)).toBe(isNginx);
  }),
);
