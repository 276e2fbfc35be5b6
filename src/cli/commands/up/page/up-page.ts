// The page of `lockstep up`: served from the first second, before there are clusters. It shows the story,
// the clusters once they run, and has the parts of the lab: incidents and what-if.

import type { Finding } from "../../../../doctor/finding.ts";
import type { Environment } from "../../../../environment/environment.ts";
import { controllerFlags } from "../../../../lab/controllers/flags.ts";
import { LabWorker } from "../../../../lab/thread/lab-worker.ts";
import { profileNamed } from "../../../../lab/versions/profiles.ts";
import { askingUrl } from "../../../../observe/routed/proxy-request.ts";
import type { State } from "../../../../server/api.ts";
import { LivePageDoctor } from "../../../../server/page-doctor.ts";
import type { PageServer } from "../../../../server/page-server.ts";
import { type PageLab, PageProblem, type PageSource } from "../../../../server/page-source.ts";
import { replicaDecision } from "../../../../server/replica-decision.ts";
import type { JourneyEvent } from "../../../../timeline/journey-event.ts";
import { type CommandContext, UsageError } from "../../../command.ts";
import { warningsOnly } from "../../../quiet-log.ts";
import { startPage } from "../../serve/page.ts";
import type { TrafficCount } from "../traffic-count.ts";
import { accessCluster, busyCluster, type ClusterName, type World } from "../world.ts";
import { ControlPlaneWatch } from "./control-plane-watch.ts";
import { type IncidentRun, IncidentService } from "./incident-service.ts";
import { LabDoctor } from "./lab-doctor.ts";
import { runLiveIncident } from "./live-incident.ts";
import { lostRequests } from "./lost-requests.ts";
import { runSimulatedIncident } from "./simulated-incident.ts";
import { StoryState } from "./story-state.ts";
import { WhatIfValueError } from "./whatif-answer.ts";
import { WhatIfService } from "./whatif-service.ts";

/** The incident that runs in the real clusters. */
const liveIncident = "throttled-controller";

const slowMs = 2_000;

/** The same as that of `lockstep serve`. */
const usualPort = 7070;

const host = "127.0.0.1";

export class UpPage {
  readonly story = new StoryState();
  readonly #context: CommandContext;
  readonly #environment: Environment;
  readonly #incidents: IncidentService;
  readonly #incidentWorker = new LabWorker();
  readonly #whatIf: WhatIfService;
  readonly #doctor: LabDoctor;
  #live: LivePageDoctor | undefined;
  #controlPlane: ControlPlaneWatch | undefined;
  #world: World | undefined;
  #traffic: { readonly count: TrafficCount; readonly since: number } | undefined;
  #server: PageServer | undefined;

  private constructor(context: CommandContext) {
    this.#context = context;
    const environment = { ...context.environment, log: warningsOnly(context.environment.log) };
    this.#environment = environment;
    this.#whatIf = new WhatIfService({ ...environment, worker: new LabWorker() });
    this.#doctor = new LabDoctor({
      clock: environment.clock,
      cluster: busyCluster,
      live: () => this.#live,
    });
    this.#incidents = new IncidentService({
      ...environment,
      isLive: (name) => name === liveIncident,
      refusal: (name) => this.#refusal(name),
      run: (run) => this.#runIncident(run),
      onChange: () => this.#server?.notify("incident"),
    });
  }

  /**
   * Without a port it is the usual one, or any if that is in use. Rejects with a `UsageError` when the
   * given port cannot be used.
   */
  static async start(context: CommandContext, port: number | undefined): Promise<UpPage> {
    const page = new UpPage(context);
    try {
      await page.#listen(port ?? usualPort);
    } catch (error) {
      if (port !== undefined || !(error instanceof UsageError)) throw error;
      await page.#listen(0);
    }
    return page;
  }

  async #listen(port: number): Promise<void> {
    const listen = { listen: { host, port }, portFlag: "--page-port" };
    const { server } = await startPage(
      this.#context,
      { ...listen, hostName: [], slow: slowMs },
      { source: this.#source(), doctor: this.#doctor, lab: this.#lab() },
    );
    this.#server = server;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  readonly onEvent = (event: JourneyEvent): void => this.#server?.onEvent(event);

  /** Its parts are read as they start. */
  follow(world: World): void {
    this.#world = world;
  }

  /** The control plane of the busy cluster runs: it is read from now on. */
  clustersRun(): void {
    const world = this.#world;
    if (world === undefined) return;
    const { controlPlane } = world.cluster(busyCluster);
    const profile = profileNamed(world.profileOf(busyCluster));
    this.#controlPlane = new ControlPlaneWatch({
      ...this.#environment,
      cluster: busyCluster,
      client: world.client(busyCluster),
      metricsUrl: () => controlPlane.metricsUrl,
      graceMs: controllerFlags(profile)["node-monitor-grace-period"],
      syncMetrics: world.syncMetrics,
    });
    this.#controlPlane.start();
    const business = ["alpha", "beta"] as const;
    this.#live = new LivePageDoctor({
      ...this.#environment,
      clusters: business.map((cluster) => ({ cluster, client: world.client(cluster) })),
      journeys: (cluster) => world.journeys.filter(({ endpoint }) => endpoint.cluster === cluster),
      onChange: () => this.#server?.notify("doctor"),
    });
  }

  trafficRuns(count: TrafficCount): void {
    this.#traffic = { count, since: this.#environment.clock.wallMs() };
  }

  /** The doctor's finding in the busy cluster; undefined when its cause is fixed. */
  found(finding: Finding | undefined): void {
    this.#doctor.found(finding);
    this.#server?.notify("doctor");
  }

  /** Ends what uses the clusters; the page stays. Idempotent. */
  async leaveWorld(): Promise<void> {
    await this.#incidents.stop();
    await this.#live?.stop();
    await this.#controlPlane?.stop();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.leaveWorld();
    await this.#server?.stop();
    await this.#whatIf.stop();
    await this.#incidentWorker.stop();
  }

  #source(): PageSource {
    const { clock, timers } = this.#environment;
    return {
      clock,
      timers,
      mode: "lab",
      observer: () => this.#world?.startedObserver,
      accessClusters: () => [accessCluster],
      servers: (cluster) => this.#serversOf(cluster),
      replicas: () => this.#world?.replicas.replicas() ?? [],
      notes: () => this.#world?.notes ?? [],
      decision: async (service, signal) => {
        const url = this.#world?.statusUrl;
        if (url === undefined) return undefined;
        return await replicaDecision(askingUrl({ ...this.#environment, url }), service, signal);
      },
    };
  }

  #serversOf(cluster: string): ReturnType<NonNullable<PageSource["servers"]>> {
    const status = this.#world?.startedObserver?.clusters().find((one) => one.cluster === cluster);
    const isDown = status?.state.type === "unreachable";
    const context = this.#world?.contexts.find(({ name }) => name === cluster);
    const profile = this.#world?.profileOf(cluster as ClusterName);
    return {
      version: profile === undefined ? null : profileNamed(profile).gitVersion,
      apiServers:
        context === undefined
          ? []
          : [
              {
                address: context.server,
                state: isDown ? "down" : "up",
                detail: status?.state.type === "unreachable" ? status.state.detail : null,
              },
            ],
    };
  }

  #lab(): PageLab {
    return {
      story: () => this.story.story,
      incident: () => this.#incidents.state(),
      requests: () => this.#requests(),
      series: () => [
        ...(this.#controlPlane?.series() ?? []),
        ...lostRequests(this.#requests().sides),
      ],
      incidents: () => this.#incidents.incidents(),
      actOnIncident: (action) => this.#incidents.act(action),
      whatIfInputs: () => this.#whatIf.inputs(),
      askWhatIf: (question) => {
        try {
          return this.#whatIf.ask(question);
        } catch (error) {
          if (!(error instanceof WhatIfValueError)) throw error;
          throw new PageProblem(400, error.message, { cause: error });
        }
      },
    };
  }

  #requests(): State["requests"] {
    const traffic = this.#traffic;
    if (traffic === undefined) return { since: this.#environment.clock.wallMs(), sides: [] };
    const { count, since } = traffic;
    const sides = ["stock", "lockstep"] as const;
    return {
      since,
      sides: sides.map((side) => ({ side, ...count.total(side), sentToDead: null })),
    };
  }

  #refusal(name: string): string | undefined {
    if (name !== liveIncident || this.story.isOver) return undefined;
    return (
      "The demonstration still plays, and it shows this incident itself. " +
      "Start it when the demonstration is over."
    );
  }

  #runIncident(run: IncidentRun): Promise<void> {
    const environment = this.#environment;
    const world = this.#world;
    if (run.name !== liveIncident || world === undefined) {
      return runSimulatedIncident({ ...environment, ...run, worker: this.#incidentWorker });
    }
    return runLiveIncident({
      ...run,
      environment,
      terminal: this.#context.terminal,
      world,
      traffic: this.#traffic?.count,
      series: () => this.#controlPlane?.series() ?? [],
      onFinding: (finding) => this.found(finding),
    });
  }
}
