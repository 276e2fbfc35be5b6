import { expect, test } from "vitest";
import type { FixQuestion } from "../../../doctor/fix-effect.ts";
import type { Timers } from "../../../environment/timers.ts";
import type { LabJob, LabResult } from "../../../lab/thread/lab-job.ts";
import { Laboratory } from "../../../lab/whatif/laboratory.ts";
import { type FixEffectOptions, fixEffects } from "./fix-effect.ts";

const never: Pick<Timers, "after"> = { after: () => () => undefined };

/** The jobs in this thread. */
const here: NonNullable<FixEffectOptions["startWorker"]> = () => {
  // Enough to see which setting is better; src/lab/whatif/nodes.long.simulation.test.ts takes the usual number.
  const laboratory = new Laboratory({ heartbeats: 160 });
  const results = {
    publishing: laboratory.publishing.bind(laboratory),
    nodes: laboratory.nodes.bind(laboratory),
  };
  return {
    async run<Job extends LabJob>(job: Job) {
      if (job.type !== "publishing" && job.type !== "nodes") throw new Error("no part");
      return (await results[job.type](job.question)) as LabResult<Job>;
    },
    stop: () => Promise.resolve(),
  };
};

function predicted(
  question: FixQuestion,
  { timers = never, startWorker = here }: Partial<FixEffectOptions> = {},
  signal = new AbortController().signal,
) {
  return fixEffects({ timers, startWorker })(question, { signal, onProgress: () => undefined });
}

const storm: FixQuestion = {
  concerns: "publishing",
  version: "1.18.4",
  flags: new Map([
    ["kube-api-qps", "5"],
    ["kube-api-burst", "5"],
  ]),
  fixed: { version: "1.18.10" },
  sizes: { services: 40, headless: 40, pods: undefined, nodes: undefined },
};

test("the present settings and the fix are simulated with the same cluster", async () => {
  expect(await predicted(storm)).toMatchInlineSnapshot(`
    {
      "effect": "Simulated with 40 services (40 headless), Kubernetes 1.18.4 (as 1.17.3), --kube-api-qps=5, --kube-api-burst=5 and --concurrent-endpoint-syncs=5. Now a resync takes 7.41 s, and a change waits up to 7.15 s. With the fix a resync takes 2.5 ms, and a change waits up to 5.23 ms.",
    }
  `);
});

test("the effect on nodes has both sides of a longer grace period", async () => {
  const gap = { minMs: 20_000, maxMs: 50_000 };
  const nodes = { version: "1.7.16", flags: new Map(), fixed: { grace: "70s" }, gap } as const;
  expect(await predicted({ concerns: "nodes", ...nodes })).toMatchInlineSnapshot(`
    {
      "effect": "Simulated with heartbeats every 20 s to 50 s and Kubernetes 1.7.16 (as 1.7). Now a healthy node is marked lost 23.8 times an hour, and a dead one after 34.2 s, at most 44.9 s. With the fix a healthy node is never marked lost, and a dead one after 1 min 4 s, at most 1 min 15 s.",
    }
  `);
});

test("a cluster in which a resync is no problem is stated as such", async () => {
  const fixed = { qps: 300, burst: 325 };
  expect(await predicted({ ...storm, version: "1.33.2", fixed })).toMatchInlineSnapshot(`
    {
      "effect": "Simulated with 40 services (40 headless), Kubernetes 1.33.2 (as 1.33), --kube-api-qps=5, --kube-api-burst=5 and --concurrent-endpoint-syncs=5. A start or a resync alone delays a change by at most 5.43 ms, so other work uses the limit.",
    }
  `);
});

test("a value that the simulation does not take is the reason", async () => {
  const sizes = { ...storm.sizes, services: 90_000 };
  expect(await predicted({ ...storm, sizes })).toEqual({
    notPredicted: "the simulation takes services from 10 to 30,000, and here it is 90,000.",
  });
});

/** A job that ends only when it is aborted. */
const endless: NonNullable<FixEffectOptions["startWorker"]> = () => ({
  run: (_job, { signal }) =>
    new Promise((_resolve, reject) => {
      const abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort);
    }),
  stop: () => Promise.resolve(),
});

test("a simulation that takes too long is given up, and the report goes on", async () => {
  const atOnce: Pick<Timers, "after"> = {
    after: (_ms, callback) => {
      callback();
      return () => undefined;
    },
  };
  expect(await predicted(storm, { timers: atOnce, startWorker: endless })).toEqual({
    notPredicted: "the simulation took longer than 1 min 30 s; lockstep whatif has no such limit.",
  });
});

test("it rejects when it is stopped", async () => {
  const stop = new AbortController();
  const waiting = predicted(storm, { startWorker: endless }, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
});
