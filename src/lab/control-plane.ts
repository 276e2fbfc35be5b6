// The controllers and the scheduler of one cluster, as processes beside its API servers. Flags are
// read at the start, as the real ones do: to change them the controller manager is started again,
// with its log going on and its metrics from zero.
import { Registry } from "prom-client";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import type { Klog } from "./controllers/klog/klog.ts";
import { runControllerManager } from "./controllers/kube-controllers.ts";
import type { ProfileName } from "./controllers/profiles.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { runScheduler } from "./scheduler/scheduler.ts";

export interface ControlPlaneOptions {
  readonly environment: LabEnvironment;
  readonly access: ClusterAccess;
  readonly profile: ProfileName;
  readonly flags: Partial<ControllerFlags>;
  readonly klog: Klog;
  /** Where the controller manager shows its metrics, on a port the system chooses. */
  readonly host: string;
}

export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  readonly #stopping = new AbortController();
  readonly #scheduling: Promise<void>;
  #flags: Partial<ControllerFlags>;
  #port = 0;
  #manager: { readonly stop: AbortController; readonly run: Promise<void> };

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
    this.#flags = options.flags;
    const { environment, access } = options;
    const client = this.#clientFor("kube-scheduler");
    this.#scheduling = runScheduler(
      { ...environment, client, cluster: access.name },
      this.#stopping.signal,
    );
    this.#manager = this.#startManager();
  }

  /** The flags that differ from the defaults. */
  get flags(): Partial<ControllerFlags> {
    return this.#flags;
  }

  /** `http://host:port/metrics` of the controller manager; undefined until it listens. */
  get metricsUrl(): string | undefined {
    return this.#port === 0 ? undefined : `http://${this.#options.host}:${this.#port}/metrics`;
  }

  /** Ends the controller manager and starts it with these flags instead. */
  async restart(flags: Partial<ControllerFlags>): Promise<void> {
    await this.#stopManager();
    this.#flags = flags;
    if (!this.#stopping.signal.aborted) this.#manager = this.#startManager();
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the control plane is stopping"));
    await Promise.all([this.#stopManager(), this.#scheduling]);
  }

  #startManager(): { readonly stop: AbortController; readonly run: Promise<void> } {
    const { environment, access, profile, klog, host } = this.#options;
    const stop = new AbortController();
    const run = runControllerManager(
      {
        environment,
        cluster: access.name,
        server: access.server,
        clientFor: (userAgent) => this.#clientFor(userAgent),
        profile,
        flags: this.#flags,
        klog,
        metrics: new Registry(),
        listen: { host, port: this.#port },
        onListening: ({ port }) => {
          this.#port = port;
        },
      },
      stop.signal,
    );
    return { stop, run };
  }

  async #stopManager(): Promise<void> {
    const { stop, run } = this.#manager;
    stop.abort(new Error("the controller manager is stopping"));
    await run;
  }

  #clientFor(userAgent: string): HttpKubeClient {
    const { environment, access } = this.#options;
    return new HttpKubeClient({ ...environment, cluster: access, userAgent });
  }
}
