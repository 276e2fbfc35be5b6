import { expect, it } from "vitest";
import { result } from "../../../../../tests/incident/incident-result.ts";
import { expectFit } from "../../../../../tests/page/page-client.ts";
import type { Finding } from "../../../../doctor/finding.ts";
import type { LabJob, LabResult } from "../../../../lab/thread/lab-job.ts";
import type { JobOptions } from "../../../../lab/thread/lab-worker.ts";
import { Incidents } from "../../../../server/api.ts";
import { type Simulation, simulate } from "../../../../simulation/simulation.ts";
import { IncidentService } from "./incident-service.ts";
import { runSimulatedIncident } from "./simulated-incident.ts";

const name = "throttled-controller";

const finding: Finding = {
  rule: "client-throttling",
  severity: "critical",
  confidence: "certain: two sources",
  hop: "published",
  cause: "the limit is used up",
  evidence: [],
  fix: { component: "kube-controller-manager", change: "--kube-api-qps=300", reason: "more" },
  affected: "All versions, current ones included.",
  page: "docs/causes/README.md#client-throttling",
  missing: [],
  consequences: [],
};

/** Its second stage is hours long, which is no incident to watch. */
const watchable = { ...result, series: result.series.filter(({ stage }) => stage === undefined) };

/** Plays at once, or fails. */
class QuickWorker {
  readonly fixes: boolean[] = [];
  readonly #findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    this.#findings = findings;
  }

  run<Job extends LabJob>(job: Job, { onProgress }: JobOptions): Promise<LabResult<Job>> {
    if (job.type !== "incident") throw new Error("only incidents are played");
    this.fixes.push(job.fix);
    onProgress?.({ step: "release 1 of 2", stageMs: 1_000 });
    const played = { result: watchable, diagnosis: { findings: this.#findings, open: [] } };
    return Promise.resolve(played as unknown as LabResult<Job>);
  }
}

function serviceOn(simulation: Simulation, findings: readonly Finding[] = [finding]) {
  const environment = simulation.host("here");
  const worker = new QuickWorker(findings);
  let changes = 0;
  const service = new IncidentService({
    ...environment,
    isLive: () => false,
    refusal: (asked) => (asked === "heartbeat-flap" ? "Not now." : undefined),
    run: (run) => runSimulatedIncident({ ...environment, ...run, worker }),
    onChange: () => {
      changes += 1;
    },
  });
  const running = () => {
    const answer = service.incidents();
    expectFit(Incidents, answer);
    return answer.running;
  };
  return { service, worker, running, changes: () => changes };
}

it("plays an incident back as it happened, names its cause, and plays the fix when asked", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { service, worker, running, changes } = serviceOn(simulation);
    expect([service.state(), running()]).toEqual([null, null]);
    service.act({ action: "start", name });
    expect(service.state()).toEqual({ name, phase: "starting" });
    const lost = () => running()?.requests.map(({ side, lost: count }) => [side, count]);
    const seen: unknown[] = [];
    while (running()?.phase !== "examining") {
      await simulation.sleep(500);
      const count = lost()?.find(([side]) => side === "stock")?.[1];
      if (running()?.phase === "fault") seen.push(count);
    }
    // The counter grows as it did in the play, and ends with its result.
    expect([...new Set(seen)]).toEqual([0, 400, 853]);
    expect(running()).toMatchObject({
      isSimulated: true,
      finding: { rule: "client-throttling", cluster: null },
      namedAfterMs: null,
    });
    expect(lost()).toEqual([
      ["stock", 853],
      ["lockstep", 2],
    ]);
    // A count holds until it changes, and to the end: a line between two changes would be wrong.
    const chart = running()?.charts.find(({ id }) => id === "lost-stock");
    expect(chart?.points).toEqual([
      [0, 0],
      [29_999, 0],
      [30_000, 400],
      [59_999, 400],
      [60_000, 853],
      [119_000, 853],
    ]);
    expect(running()?.steps.map(({ text }) => text)).toContain(
      "at 30 s of simulated time: release 1: every pod of the shop is replaced, and this text is long",
    );
    await simulation.sleep(60_000);
    expect([running()?.phase, worker.fixes]).toEqual(["examining", [false]]);
    service.act({ action: "fix", name });
    while (running()?.phase !== "fixed") await simulation.sleep(500);
    expect(worker.fixes).toEqual([false, true]);
    const texts = running()?.measures.map(({ text }) => text) ?? [];
    expect(texts).toContain("requests lost");
    expect(texts).toContain("with the fix: requests lost");
    expect(changes()).toBeGreaterThan(0);
    await service.stop();
  }));

it("refuses what cannot be done, with a sentence", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { service } = serviceOn(simulation);
    const act = (action: "start" | "fix" | "stop", which = name) =>
      service.act({ action, name: which });
    expect(() => act("start", "unknown")).toThrow(
      /^There is no such incident\. The incidents are /,
    );
    expect(() => act("start", "heartbeat-flap")).toThrow("Not now.");
    expect(() => act("fix")).toThrow(`${name} is not running. Start it first.`);
    act("stop");
    act("start");
    expect(() => act("start", "ghost-leader")).toThrow(`${name} is running. Stop it first.`);
    expect(() => act("fix")).toThrow("No cause is named yet, so there is no fix to apply.");
    await service.stop();
  }));

it("can be stopped at any time, more than once, and started again", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { service, running } = serviceOn(simulation);
    service.act({ action: "start", name });
    await simulation.sleep(2_000);
    service.act({ action: "stop", name });
    service.act({ action: "stop", name });
    await simulation.sleep(1_000);
    expect([running()?.phase, service.state()]).toEqual(["ended", null]);
    service.act({ action: "start", name: "ghost-leader" });
    expect(running()).toMatchObject({ name: "ghost-leader", phase: "starting", finding: null });
    await service.stop();
  }));

it("an incident that fails says why", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { service, running } = serviceOn(simulation, []);
    service.act({ action: "start", name });
    while (running()?.phase !== "failed") await simulation.sleep(500);
    expect(running()?.steps.at(-1)?.text).toBe(
      "it failed: the doctor named no cause of throttled-controller",
    );
    expect(() => service.act({ action: "fix", name })).toThrow("is not running");
    await service.stop();
  }));
