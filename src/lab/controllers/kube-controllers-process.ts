// One controller manager as a supervised process. It is started again with other flags on request, and
// by itself when it ended because it lost the lock. Its log continues; its metrics start from zero.
import { Registry } from "prom-client";
import type { Klog } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import { type ProfileName, profileNamed, userAgentOf } from "../versions/profiles.ts";
import type { ControllerFlags } from "./flags.ts";
import { runControllerManager } from "./kube-controllers.ts";
import type { AccountOptions } from "./started-controllers.ts";

export interface ControllersProcessOptions {
  readonly environment: Pick<Environment, "clock" | "timers" | "random" | "network" | "log">;
  readonly access: ClusterAccess;
  /** How the kubelet of its machine reaches the API servers. */
  readonly kubeletAccess: ClusterAccess;
  readonly profile: ProfileName;
  readonly flags: Partial<ControllerFlags>;
  /** See `ControllerManagerOptions`. */
  readonly resyncFactor?: number | undefined;
  /** See `ControllerManagerOptions`. */
  readonly accounts?: AccountOptions | undefined;
  readonly klog: Klog;
  /** Where it shows its metrics, on a port the system chooses. */
  readonly host: string;
  readonly nodeName: string;
}

/** How long a kubelet waits before it starts a container again: its first back-off. */
const restartDelayMs = 10_000;

export class ControllersProcess {
  readonly #options: ControllersProcessOptions;
  #flags: Partial<ControllerFlags>;
  #port = 0;
  #restarts = 0;
  #life: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: ControllersProcessOptions) {
    this.#options = options;
    this.#flags = options.flags;
  }

  /** `http://host:port/metrics`; undefined until it listens. */
  get metricsUrl(): string | undefined {
    return this.#port === 0 ? undefined : `http://${this.#options.host}:${this.#port}/metrics`;
  }

  start(): void {
    if (this.#life !== undefined) return;
    const stop = new AbortController();
    this.#life = { stop, ended: this.#live(stop.signal) };
  }

  /** Ends it and starts it with these flags instead. */
  async restart(flags: Partial<ControllerFlags>): Promise<void> {
    await this.stop();
    this.#flags = flags;
    this.#restarts = 0;
    this.start();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop.abort(new Error("the controller manager is stopping"));
    await life?.ended;
  }

  async #live(signal: AbortSignal): Promise<void> {
    const { timers } = this.#options.environment;
    for (;;) {
      await this.#run(signal);
      if (signal.aborted) return;
      this.#restarts += 1;
      await timers.sleep(restartDelayMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      if (signal.aborted) return;
    }
  }

  #run(signal: AbortSignal): Promise<void> {
    const { environment, access, profile, klog, host, resyncFactor, nodeName } = this.#options;
    const { accounts } = this.#options;
    const cluster = this.#options.kubeletAccess;
    const userAgent = userAgentOf("kubelet", profileNamed(profile));
    return runControllerManager(
      {
        environment,
        cluster: access.name,
        server: access.server,
        clientFor: (agent) =>
          new HttpKubeClient({ ...environment, cluster: access, userAgent: agent }),
        profile,
        flags: this.#flags,
        resyncFactor,
        accounts,
        klog,
        metrics: new Registry(),
        listen: { host, port: this.#port },
        onListening: ({ port }) => {
          this.#port = port;
        },
        nodeName,
        kubeletClient: new HttpKubeClient({ ...environment, cluster, userAgent }),
        restartCount: this.#restarts,
      },
      signal,
    );
  }
}
