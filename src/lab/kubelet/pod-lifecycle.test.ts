import fc from "fast-check";
import { expect, it } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import { type PodEvent, type PodRules, type PodState, step } from "./pod-lifecycle.ts";

const always: PodRules = { restartPolicy: "Always", hasPreStop: false };
const pending: PodState = { name: "pending", restarts: 0, crashes: 0, lastExit: undefined };
const at = 0 as WallMs;

/** Events a second apart; the states they lead to. */
function life(events: readonly WithoutTime<PodEvent>[], rules = always): readonly PodState[] {
  const states: PodState[] = [];
  let state = pending;
  for (const [index, event] of events.entries()) {
    state = step(state, { ...event, at: (index * 1_000) as WallMs }, rules);
    states.push(state);
  }
  return states;
}

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "at"> : never;

const born: readonly WithoutTime<PodEvent>[] = [
  { type: "addressed", address: "10.0.0.1" },
  { type: "listening" },
  { type: "observed", isStarted: true, isReady: true },
];

it("goes from pending to ready, and from deletion to gone", () => {
  const events: readonly WithoutTime<PodEvent>[] = [
    ...born,
    { type: "stop", graceMs: 30_000 },
    { type: "exited", exitCode: 0 },
    { type: "forgotten" },
  ];
  const history = { restarts: 0, crashes: 0, lastExit: undefined };
  const run = { address: "10.0.0.1", startedAt: 1_000, isStarted: true, isReady: true };
  const lastExit = { exitCode: 0, startedAt: 1_000, finishedAt: 4_000 };
  expect(life(events)).toEqual([
    { ...history, name: "starting", address: "10.0.0.1" },
    { ...history, ...run, name: "running", isStarted: false, isReady: false },
    { ...history, ...run, name: "running" },
    { ...history, ...run, name: "terminating", stage: "term", graceMs: 30_000 },
    { ...history, name: "finished", phase: "Succeeded", address: "10.0.0.1", lastExit },
    { name: "gone" },
  ]);
});

it("looks for another address when the first is taken", () => {
  const names = life([
    { type: "addressed", address: "10.0.0.1" },
    { type: "addressTaken" },
    { type: "addressed", address: "10.0.0.2" },
    { type: "listening" },
  ]).map((state) => ("address" in state ? `${state.name} ${state.address}` : state.name));
  expect(names).toEqual(["starting 10.0.0.1", "pending", "starting 10.0.0.2", "running 10.0.0.2"]);
});

it("waits longer after every crash in a row, up to five minutes, and not at all after the first", () => {
  const crash: readonly WithoutTime<PodEvent>[] = [
    { type: "exited", exitCode: 1 },
    { type: "restartDue" },
    { type: "listening" },
  ];
  const states = life([...born, ...Array.from({ length: 8 }, () => crash).flat()]);
  const waits = states.flatMap((state) => (state.name === "backoff" ? [state.waitMs / 1_000] : []));
  expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

it("forgets earlier crashes after a run of ten minutes", () => {
  const crashed: PodState = {
    name: "running",
    address: "10.0.0.1",
    startedAt: at,
    isStarted: true,
    isReady: true,
    restarts: 4,
    crashes: 4,
    lastExit: undefined,
  };
  const exitAfter = (ms: number) =>
    step(crashed, { type: "exited", exitCode: 1, at: ms as WallMs }, always);
  expect([exitAfter(599_999), exitAfter(600_000)]).toMatchObject([
    { name: "backoff", waitMs: 80_000, crashes: 5 },
    { name: "backoff", waitMs: 0, crashes: 1 },
  ]);
});

it.each([
  ["Always", 0, "backoff"],
  ["Always", 1, "backoff"],
  ["OnFailure", 0, "finished Succeeded"],
  ["OnFailure", 1, "backoff"],
  ["Never", 0, "finished Succeeded"],
  ["Never", 1, "finished Failed"],
] as const)(
  "with restartPolicy %s an exit with %i leads to %s",
  (restartPolicy, exitCode, then) => {
    const [last] = life([...born, { type: "exited", exitCode }], {
      ...always,
      restartPolicy,
    }).slice(-1);
    expect(last?.name === "finished" ? `finished ${last.phase}` : last?.name).toBe(then);
  },
);

it("never restarts a pod that is being deleted", () => {
  const states = life([
    ...born,
    { type: "stop", graceMs: 30_000 },
    { type: "exited", exitCode: 137 },
  ]);
  expect(states.at(-1)).toMatchObject({ name: "finished", phase: "Failed" });
});

it("runs the preStop hook first, and only ever shortens the grace", () => {
  const stops: readonly WithoutTime<PodEvent>[] = [
    { type: "stop", graceMs: 30_000 },
    { type: "stop", graceMs: 60_000 },
    { type: "preStopDone" },
    { type: "stop", graceMs: 5_000 },
  ];
  const states = life([...born, ...stops], { ...always, hasPreStop: true }).slice(born.length);
  expect(
    states.map((state) => (state.name === "terminating" ? [state.stage, state.graceMs] : state)),
  ).toEqual([
    ["preStop", 30_000],
    ["preStop", 30_000],
    ["term", 30_000],
    ["term", 5_000],
  ]);
});

it("finishes at once a pod that is deleted while nothing of it runs", () => {
  const stop = { type: "stop", graceMs: 30_000 } as const;
  const exit = { type: "exited", exitCode: 1 } as const;
  const lives = [[], born.slice(0, 1), [...born, exit]].map((events) => [...events, stop]);
  expect(lives.map((events) => life(events).at(-1)?.name)).toEqual([
    "finished",
    "finished",
    "finished",
  ]);
});

it("ends for good, whatever happens in whatever order", () => {
  const event = fc.constantFrom<WithoutTime<PodEvent>>(
    ...born,
    { type: "addressTaken" },
    { type: "exited", exitCode: 0 },
    { type: "exited", exitCode: 1 },
    { type: "restartDue" },
    { type: "stop", graceMs: 10_000 },
    { type: "preStopDone" },
    { type: "forgotten" },
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const names = life(events).map((state) => state.name);
      const firstEnd = names.findIndex((name) => name === "finished" || name === "gone");
      const after = firstEnd < 0 ? [] : names.slice(firstEnd);
      const expected = after.map((_, index) =>
        index < after.indexOf("gone") || !after.includes("gone") ? "finished" : "gone",
      );
      expect(after).toEqual(expected);
      const stop = events.findIndex(({ type }) => type === "stop");
      const afterStop = stop < 0 ? [] : names.slice(stop);
      expect(afterStop.filter((name) => name === "backoff" || name === "starting")).toEqual([]);
    }),
  );
});
