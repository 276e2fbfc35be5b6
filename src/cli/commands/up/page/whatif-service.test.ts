import { expect, test } from "vitest";
import type { MonotonicMs } from "../../../../environment/clock.ts";
import type { LabJob, LabResult } from "../../../../lab/thread/lab-job.ts";
import { type JobOptions, LabJobError } from "../../../../lab/thread/lab-worker.ts";
import { Laboratory } from "../../../../lab/whatif/laboratory.ts";
import type { Prediction } from "../../../../lab/whatif/prediction.ts";
import { WhatIfValueError, whatIfQuestion } from "./whatif-answer.ts";
import { WhatIfService } from "./whatif-service.ts";

interface Asked {
  readonly services: number;
  readonly signal: AbortSignal;
  readonly answer: (prediction: Prediction) => void;
  readonly fail: (error: unknown) => void;
}

/** A worker whose answers come when the test says so. */
class HeldWorker {
  readonly asked: Asked[] = [];

  run<Job extends LabJob>(job: Job, { signal, onProgress }: JobOptions): Promise<LabResult<Job>> {
    if (job.type !== "prediction") throw new Error("only predictions are asked for");
    const { services } = job.question.counts;
    onProgress?.({ step: "making the cluster", stageMs: 2_000 });
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      const answer = (prediction: Prediction) => resolve(prediction as LabResult<Job>);
      this.asked.push({ services, signal, answer, fail: reject });
    });
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function serviceWith(worker: HeldWorker) {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs as MonotonicMs };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { service: new WhatIfService({ clock, worker }), pass };
}

const small = { version: "1.33", values: { services: 20 } };
const other = { version: "1.33", values: { services: 30 } };

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Of fewer heartbeats than a rate needs: the service shows any prediction. */
const laboratory = new Laboratory({ heartbeats: 160 });
const prediction = await laboratory.predict(whatIfQuestion(small));

test("an answer is computed once and kept for every page", async () => {
  const worker = new HeldWorker();
  const { service } = serviceWith(worker);
  expect(service.ask({ ...small, page: "a" })).toMatchObject({
    figures: null,
    progress: "making the cluster: 2 s of simulated time",
  });
  expect(service.ask({ ...small, page: "b" }).figures).toBeNull();
  worker.asked[0]?.answer(prediction);
  await settled();
  const answer = service.ask({ ...small, page: "c" });
  expect(answer.figures?.map(({ id }) => id)).toContain("drain");
  expect(answer.flags).toContain("--kube-api-qps=20");
  expect(answer.charts.map(({ id, points }) => [id, points.length > 0])).toEqual([
    ["whatif-queue", true],
    ["whatif-wait", true],
  ]);
  expect(worker.asked).toHaveLength(1);
});

test("the newest question of a page replaces its older one, which is aborted", async () => {
  const worker = new HeldWorker();
  const { service } = serviceWith(worker);
  service.ask({ ...small, page: "a" });
  service.ask({ ...other, page: "a" });
  expect(worker.asked[0]?.signal.aborted).toBe(true);
  await settled();
  expect(worker.asked.map(({ services }) => services)).toEqual([20, 30]);
});

test("a question that another page waits for is not aborted, and the next one waits", async () => {
  const worker = new HeldWorker();
  const { service } = serviceWith(worker);
  service.ask({ ...small, page: "a" });
  service.ask({ ...small, page: "b" });
  expect(service.ask({ ...other, page: "a" }).progress).toBe(
    "waiting for the answer to another page",
  );
  expect(worker.asked[0]?.signal.aborted).toBe(false);
  worker.asked[0]?.answer(prediction);
  await settled();
  expect(worker.asked.map(({ services }) => services)).toEqual([20, 30]);
});

test("a page that asks no more is forgotten", async () => {
  const worker = new HeldWorker();
  const { service, pass } = serviceWith(worker);
  service.ask({ ...small, page: "gone" });
  pass(11_000);
  service.ask({ ...other, page: "here" });
  expect(worker.asked[0]?.signal.aborted).toBe(true);
  await settled();
  expect(worker.asked.map(({ services }) => services)).toEqual([20, 30]);
});

test("a failed simulation and a contradiction are answers with a sentence", async () => {
  const worker = new HeldWorker();
  const { service } = serviceWith(worker);
  service.ask(small);
  worker.asked[0]?.fail(new LabJobError("the simulation ended early: no memory"));
  await settled();
  expect(service.ask(small)).toMatchObject({
    figures: [],
    notes: ["The simulation failed: the simulation ended early: no memory"],
  });
  const contrary = { version: "1.33", values: { services: 20, churn: 50 } };
  expect(service.ask(contrary).notes[0]).toContain("--churn may be at most 20 here.");
});

test("a value out of its range is refused with the range", () => {
  const { service } = serviceWith(new HeldWorker());
  const ask = (values: Record<string, number>, version = "1.33") =>
    service.ask({ version, values });
  expect(() => ask({ services: 1e6 })).toThrow(
    new WhatIfValueError("services must be from 10 to 15,000."),
  );
  expect(() => ask({ qps: Number.NaN })).toThrow(WhatIfValueError);
  expect(() => ask({ unknown: 1 })).toThrow(/^there is no input unknown; the inputs are services,/);
  expect(() => ask({}, "1.99")).toThrow(/^version must be one of 1\.7,/);
});
