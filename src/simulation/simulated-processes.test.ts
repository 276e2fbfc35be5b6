// Programs on a simulated machine start, write, take signals and die.
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { type Simulation, simulate } from "./simulation.ts";

function registerPrograms(simulation: Simulation): void {
  simulation.registerProgram("greet", async ({ args, input, variables, write, writeError }) => {
    write(`hello ${args.join(" ")} ${Buffer.from(input).toString()}${variables["MOOD"] ?? ""}`);
    writeError("a warning");
    return 3;
  });
  simulation.registerProgram("fail", async () => {
    throw new Error("broken");
  });
  simulation.registerProgram("serve", async ({ environment, onSignal }) => {
    await environment.network.listen({ host: "a", port: 80 }, (exchange) => {
      exchange.respond(200).end();
    });
    return new Promise((resolve) => onSignal(() => resolve(0)));
  });
  simulation.registerProgram("hang", () => new Promise(() => undefined));
}

test("runs a program to its end and collects what it wrote", async () => {
  const results = await simulate({ seed: 1 }, async (simulation) => {
    registerPrograms(simulation);
    const { processes } = simulation.host("a");
    const options = { input: "there ", environment: { MOOD: "!" }, timeoutMs: 1000 };
    return [
      await processes.run("greet", ["you"], options),
      await processes.run("fail", [], { timeoutMs: 1000 }),
    ];
  });
  expect(results).toEqual([
    { code: 3, signal: null, output: "hello you there !", errorOutput: "a warning" },
    { code: 1, signal: null, output: "", errorOutput: "Error: broken\n" },
  ]);
});

test("fails with NOT_FOUND, TIMEOUT or ABORTED", async () => {
  const codes = await simulate({ seed: 1 }, async (simulation) => {
    registerPrograms(simulation);
    const { processes, timers } = simulation.host("a");
    const controller = new AbortController();
    timers.after(10, () => controller.abort());
    const { signal } = controller;
    const attempts = await Promise.allSettled([
      processes.run("nothing", [], { timeoutMs: 1000 }),
      processes.run("hang", [], { timeoutMs: 1000 }),
      processes.run("hang", [], { timeoutMs: 1000, signal }),
    ]);
    return attempts.map((attempt) => (attempt.status === "rejected" ? attempt.reason.code : "ok"));
  });
  expect(codes).toEqual(["NOT_FOUND", "TIMEOUT", "ABORTED"]);
});

test("a killed process leaves its port; one that takes the signal ends its own way", async () => {
  const seen = await simulate({ seed: 1 }, async (simulation) => {
    registerPrograms(simulation);
    const { processes, network } = simulation.host("a");
    const ask = () =>
      network.request({ method: "GET", url: "http://a/" }).then(
        ({ status }) => status,
        (error: { code: string }) => error.code,
      );
    const first = await processes.spawn("serve", []);
    const answers = [await ask()];
    processes.kill(first.pid, "SIGKILL");
    answers.push(await ask());
    const second = await processes.spawn("serve", []);
    answers.push(await ask());
    const alive = [processes.isAlive(first.pid), processes.isAlive(second.pid)];
    second.kill("SIGTERM");
    return { answers, alive, exits: [await first.exited, await second.exited] };
  });
  expect(seen).toEqual({
    answers: [200, "REFUSED", 200],
    alive: [false, true],
    exits: [
      { code: null, signal: "SIGKILL" },
      { code: 0, signal: null },
    ],
  });
});

test("a crash of the machine ends every process on it, detached ones too", async () => {
  const alive = await simulate({ seed: 1 }, async (simulation) => {
    registerPrograms(simulation);
    const { processes } = simulation.host("a");
    const child = await processes.spawn("hang", []);
    const detached = await processes.spawn("hang", [], { detached: true });
    simulation.crash("a");
    const fresh = simulation.host("a").processes;
    return [fresh.isAlive(child.pid), fresh.isAlive(detached.pid), fresh.isAlive(fresh.pid)];
  });
  expect(alive).toEqual([false, false, true]);
});

test("a killed program listens to no signal of its sleeps any more, which would keep all it had", async () => {
  const counts = await simulate({ seed: 1 }, async (simulation) => {
    const signal = AbortSignal.any([new AbortController().signal, new AbortController().signal]);
    simulation.registerProgram("sleep", async ({ environment }) => {
      await environment.timers.sleep(60_000, signal);
      return 0;
    });
    const child = await simulation.host("a").processes.spawn("sleep", [], { detached: true });
    await simulation.sleep(10);
    const before = getEventListeners(signal, "abort").length;
    child.kill("SIGKILL");
    return [before, getEventListeners(signal, "abort").length];
  });
  expect(counts).toEqual([1, 0]);
});
