import { expect, it } from "vitest";
import { simulate } from "../../../simulation/simulation.ts";
import { ReplicaWatch } from "./replica-watch.ts";

it("shows a replica that does not serve, and notes the outage for a minute after its end", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    let problem: string | undefined;
    const replicas = [
      { name: "stock-1", kind: "stock", problem: () => problem },
      { name: "stock-2", kind: "stock", problem: () => undefined },
    ] as const;
    const watch = new ReplicaWatch({ ...environment, replicas: () => replicas });
    const stopping = new AbortController();
    const running = watch.run(stopping.signal);
    const states = () => watch.replicas().map(({ state, problem: why }) => [state, why]);
    await simulation.sleep(1_000);
    expect(states()).toEqual([
      ["connected", null],
      ["connected", null],
    ]);
    problem = "nginx has ended: SIGKILL";
    await simulation.sleep(1_000);
    expect(states()).toEqual([
      ["down", "nginx has ended: SIGKILL"],
      ["connected", null],
    ]);
    expect(watch.notes()).toEqual([]);
    problem = undefined;
    await simulation.sleep(1_000);
    expect(states()[0]).toEqual(["connected", null]);
    expect(watch.notes()).toEqual([
      "stock-1 serves again. It did not for 1 s: nginx has ended: SIGKILL.",
    ]);
    await simulation.sleep(60_000);
    expect(watch.notes()).toEqual([]);
    stopping.abort();
    await running;
  }));

it("notes a restart that was too short to be seen", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    let run: string | undefined = "first";
    const replicas = [
      { name: "lockstep-1", kind: "lockstep", problem: () => undefined, proxyRun: () => run },
    ] as const;
    const watch = new ReplicaWatch({ ...environment, replicas: () => replicas });
    const stopping = new AbortController();
    const running = watch.run(stopping.signal);
    await simulation.sleep(1_050);
    expect(watch.notes()).toEqual([]);
    run = "second";
    await simulation.sleep(100);
    expect(watch.replicas().map(({ state, problem }) => [state, problem])).toEqual([
      ["connected", null],
    ]);
    const noted = "lockstep-1 serves again. It did not for up to 100 ms: nginx was started again.";
    expect(watch.notes()).toEqual([noted]);
    await simulation.sleep(1_000);
    expect(watch.notes()).toEqual([noted]);
    stopping.abort();
    await running;
  }));
