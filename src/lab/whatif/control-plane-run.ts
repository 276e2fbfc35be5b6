// One API server with the storage of a cluster, and one controller manager, in virtual time: the same
// server and controllers as everywhere in the lab. Results are read from their metrics, as an operator
// would.
import { Registry } from "prom-client";
import { ApiServer } from "../../apiserver/api-server.ts";
import type { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { Klog } from "../../components/klog.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import type { ControllerFlags } from "../controllers/flags.ts";
import { runControllerManager } from "../controllers/kube-controllers.ts";
import type { Instruments } from "../probe/interval-counters.ts";
import { registryMetrics } from "../probe/metrics-source.ts";
import { QueueProbe } from "../probe/queue-probe.ts";
import { RequestCounters } from "../probe/request-counters.ts";
import { servedKinds } from "../served-kinds.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";
import type { Counts } from "./question.ts";

export interface ControlPlaneRunOptions {
  readonly simulation: Simulation;
  readonly storage: MemoryStorage;
  readonly version: ProfileName;
  readonly flags: Partial<ControllerFlags>;
  /** The resync period divided by the shortest; drawn unless given. */
  readonly resyncFactor?: number;
  /** The speed of writes; unlimited unless given. */
  readonly server?: Pick<Counts, "writesPerSecond" | "writeLatencyMs">;
  readonly objects?: Iterable<object>;
}

const serverName = "apiserver";
const serverUrl = `http://${serverName}:6443`;
const token = "whatif";
const managerName = "controller-manager";

/** It exists in every run; otherwise the manager's pod would be an orphan. */
const managerNode = "node-0";

/** A slow server refuses no request. */
const maxQueued = 1_000_000;

/** The controllers that publish endpoints: the end of their user agents, and their queues. */
const publishers = ["/endpoint-controller", "/endpointslice-controller"];
const queues = ["endpoint", "endpoint_slice"];

const writeVerbs = ["create", "update", "patch", "delete"] as const;

export class ControlPlaneRun {
  readonly #options: ControlPlaneRunOptions;
  readonly #server: ApiServer;
  readonly #stopping = new AbortController();
  readonly #metrics = new Registry();
  readonly #publishing: RequestCounters;
  readonly #allClients: RequestCounters;
  #manager: Promise<void> = Promise.resolve();

  constructor(options: ControlPlaneRunOptions) {
    const { simulation, storage, version, objects } = options;
    this.#options = options;
    const { clock } = simulation.host(managerName);
    this.#publishing = new RequestCounters(clock);
    this.#allClients = new RequestCounters(clock);
    this.#server = new ApiServer({
      ...simulation.host(serverName),
      storage,
      name: serverName,
      gitVersion: profileNamed(version).gitVersion,
      authentication: { tokens: new Map([[token, { name: "admin", groups: ["system:masters"] }]]) },
      kinds: servedKinds(version),
      ...(objects === undefined ? {} : { objects }),
    });
  }

  get instruments(): Instruments {
    const { simulation } = this.#options;
    return {
      now: () => simulation.now(),
      queue: new QueueProbe({ metrics: registryMetrics(this.#metrics), queues }),
      publishing: this.#publishing,
      allClients: this.#allClients,
    };
  }

  /** Resolves when the server listens. */
  async startServer(): Promise<void> {
    await this.#server.start({ host: serverName, port: 6443 });
    const { writesPerSecond, writeLatencyMs = 0 } = this.#options.server ?? {};
    if (writesPerSecond !== undefined) {
      const requestsPerSecond = writesPerSecond;
      this.#server.faults.setCapacity({ requestsPerSecond, maxQueued, of: "writes" });
    }
    if (writeLatencyMs > 0) {
      this.#server.faults.setRules([{ match: { verbs: writeVerbs }, latency: writeLatencyMs }]);
    }
  }

  startManager(): void {
    const { simulation, version, flags, resyncFactor } = this.#options;
    const environment = simulation.host(managerName);
    this.#manager = runControllerManager(
      {
        environment,
        cluster: "whatif",
        server: serverUrl,
        clientFor: (userAgent) => {
          const client = this.clientOf(managerName, userAgent);
          const isPublisher = publishers.some((name) => userAgent.endsWith(name));
          return isPublisher ? this.#publishing.counted(client) : client;
        },
        profile: version,
        flags: { "leader-elect": false, ...flags },
        resyncFactor,
        nodeName: managerNode,
        klog: new Klog({ clock: environment.clock }),
        metrics: this.#metrics,
      },
      this.#stopping.signal,
    );
  }

  /** A client whose requests count as load. */
  clientOf(machine: string, userAgent: string): KubeClient {
    return this.#allClients.counted(this.uncountedClientOf(machine, userAgent));
  }

  /** A client that only measures. */
  uncountedClientOf(machine: string, userAgent: string): KubeClient {
    const cluster = fixedAccess({ name: "whatif", server: serverUrl, token });
    return new HttpKubeClient({ ...this.#options.simulation.host(machine), cluster, userAgent });
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the run is over"));
    await this.#manager;
    await this.#server.stop();
  }
}
