// The parts of a run: the control plane with a copy of the cluster, the pods that change, the heartbeats of
// the nodes, and a watch of the published endpoints.

import type { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { toMicroTime } from "../../environment/clock.ts";
import { randomBetween } from "../../environment/random.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { profileNamed } from "../versions/profiles.ts";
import { ControlPlaneRun } from "./control-plane-run.ts";
import { NodeBeats } from "./node-beats.ts";
import { PodChanges } from "./pod-changes.ts";
import { populationPods } from "./population.ts";
import { PublishedWatch } from "./published-watch.ts";
import type { PublishingPlan } from "./publishing-plan.ts";
import type { Question } from "./question.ts";
import { runFlags } from "./run-flags.ts";
import { StormWatch } from "./storm-watch.ts";

export interface PublishingWorldOptions {
  readonly simulation: Simulation;
  readonly question: Question;
  readonly storage: MemoryStorage;
  readonly plan: PublishingPlan;
}

export class PublishingWorld {
  readonly changes: PodChanges;
  readonly monitor: StormWatch;
  readonly #options: PublishingWorldOptions;
  readonly #plane: ControlPlaneRun;
  readonly #beats: NodeBeats;
  readonly #watch: PublishedWatch;
  #isChurning = false;
  /** Timed changes of earlier schedules are cancelled. */
  #schedule = 0;

  constructor(options: PublishingWorldOptions) {
    this.#options = options;
    const { simulation, question, storage, plan } = options;
    const { counts, settings } = question;
    this.#plane = new ControlPlaneRun({
      simulation,
      storage: storage.copy({ clock: simulation.host("apiserver").clock }),
      version: settings.version,
      flags: runFlags(settings, plan.resyncMs),
      ...(plan.periodMs === undefined ? { resyncFactor: 1 } : {}),
      server: counts,
    });
    this.changes = new PodChanges({
      random: simulation.random,
      client: this.#plane.uncountedClientOf("kubelets", "kubelet"),
      churnClient: this.#plane.clientOf("kubelets", "kubelet"),
      now: () => simulation.now(),
      pods: populationPods(counts),
    });
    this.#beats = this.#makeBeats();
    this.#watch = new PublishedWatch({
      ...simulation.host("watcher"),
      client: this.#plane.uncountedClientOf("watcher", "watcher"),
      form: profileNamed(settings.version).endpointSlices ? "slices" : "endpoints",
      onPublished: (address, isReady) => this.changes.published(address, isReady),
    });
    this.monitor = new StormWatch({
      instruments: this.#plane.instruments,
      services: counts.services,
      sleep: (ms) => simulation.sleep(ms),
      gapMs: plan.lookGapMs(plan.expectedMs),
    });
  }

  /** Resolves when the controllers start. */
  async start(): Promise<void> {
    const { question, plan } = this.#options;
    await this.#plane.startServer();
    await this.#watch.start();
    this.#plane.startManager();
    if (!plan.isOverloaded) this.startChurn();
    // With an unlimited server heartbeats change nothing, so they are left out.
    if (question.counts.writesPerSecond !== undefined) this.#beats.start();
  }

  async stop(): Promise<void> {
    this.stopChurn();
    this.callOffProbes();
    await this.changes.settled();
    await this.#beats.stop();
    await this.#watch.stop();
    await this.#plane.stop();
  }

  /** One timed change at a random moment of each of so many equal parts; cancels earlier schedules. */
  probeDuring(windowMs: number, count: number): void {
    this.callOffProbes();
    const { simulation } = this.#options;
    const schedule = this.#schedule;
    const fromMs = simulation.now();
    const partMs = windowMs / count;
    for (let part = 0; part < count; part += 1) {
      const atMs = fromMs + randomBetween(simulation.random, part, part + 1) * partMs;
      simulation.at(atMs, () => {
        if (this.#schedule === schedule) this.changes.probe();
      });
    }
  }

  callOffProbes(): void {
    this.#schedule += 1;
  }

  /** Starts the cluster's own changes, at random moments. */
  startChurn(): void {
    if (this.#isChurning) return;
    this.#isChurning = true;
    this.#churnLater();
  }

  stopChurn(): void {
    this.#isChurning = false;
  }

  #churnLater(): void {
    const { simulation, question } = this.#options;
    const { changesPerSecond } = question.counts;
    if (changesPerSecond === 0) return;
    const gapMs = (-Math.log(1 - simulation.random.next()) / changesPerSecond) * 1000;
    simulation.at(simulation.now() + gapMs, () => {
      if (!this.#isChurning) return;
      this.changes.churn();
      this.#churnLater();
    });
  }

  #makeBeats(): NodeBeats {
    const { simulation, question } = this.#options;
    const { clock } = simulation.host("kubelets");
    return new NodeBeats({
      ...question,
      client: this.#plane.clientOf("kubelets", "kubelet"),
      after: (ms, callback) => simulation.at(simulation.now() + ms, callback),
      timeText: () => toMicroTime(clock.wallMs()),
    });
  }
}
