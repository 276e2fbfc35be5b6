// The controllers and the scheduler of one cluster, as processes beside its API servers, each with a
// pod in kube-system that shows its command and its log. Flags are read at the start, as the real
// ones do: to change them the controller managers are started again.

import { Klog, structured } from "../components/klog.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import { componentPodName, publishComponentPod } from "./controllers/component-pod.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import type { ComponentLogs } from "./controllers/klog/component-logs.ts";
import { controllerManager, controlPlaneNode } from "./controllers/kube-controllers.ts";
import { ControllersProcess } from "./controllers/kube-controllers-process.ts";
import type { AccountOptions } from "./controllers/started-controllers.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { runScheduler } from "./scheduler/scheduler.ts";
import { type ProfileName, profileNamed, userAgentOf } from "./versions/profiles.ts";

export interface ControlPlaneOptions {
  /** Of one machine of the control plane: the first is 0. */
  readonly environmentOf: (machine: number) => LabEnvironment;
  /** Where the controller manager of a machine shows its metrics. */
  readonly hostOf: (machine: number) => string;
  /** How a component reaches the API servers, as the user it is. */
  readonly accessOf: (component: string) => ClusterAccess;
  readonly profile: ProfileName;
  readonly flags: Partial<ControllerFlags>;
  /** See `ControllerManagerOptions`. */
  readonly resyncFactor?: number | undefined;
  /** See `ControllerManagerOptions`. */
  readonly accounts?: AccountOptions | undefined;
  /** How many controller managers; one leads, the others stand by. */
  readonly managers: number;
  /** Gets the log of each component. */
  readonly logs: ComponentLogs;
  readonly servers: readonly ServerComponent[];
}

/** An API server, as its pod shows it. */
export interface ServerComponent {
  readonly command: readonly string[];
  readonly klog: Klog;
}

const scheduler = "kube-scheduler";
const apiServer = "kube-apiserver";

export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  readonly #stopping = new AbortController();
  readonly #managers: readonly ControllersProcess[];
  /** The scheduler, and the pods of what is not a controller manager. */
  readonly #rest: readonly Promise<void>[];
  #flags: Partial<ControllerFlags>;

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
    this.#flags = options.flags;
    this.#rest = [this.#schedule(), ...options.servers.map((server, at) => this.#show(server, at))];
    this.#managers = Array.from({ length: options.managers }, (_, machine) =>
      this.#makeManager(machine),
    );
    for (const manager of this.#managers) manager.start();
  }

  /** The flags that differ from the defaults. */
  get flags(): Partial<ControllerFlags> {
    return this.#flags;
  }

  /** Of the first controller manager; undefined until it listens. */
  get metricsUrl(): string | undefined {
    return this.#managers[0]?.metricsUrl;
  }

  /** `host:port` of the metrics of a controller manager, by its pod. */
  listensAt(pod: { readonly namespace: string; readonly name: string }): string | undefined {
    const index = this.#managers.findIndex((_, machine) => {
      const { namespace, name } = componentPodName(controllerManager, nodeNameOf(machine));
      return namespace === pod.namespace && name === pod.name;
    });
    const url = this.#managers[index]?.metricsUrl;
    return url === undefined ? undefined : new URL(url).host;
  }

  /** The controller managers, for those who end one of them. */
  get managers(): readonly ControllersProcess[] {
    return this.#managers;
  }

  /** Ends the controller managers and starts them with these flags instead. */
  async restart(flags: Partial<ControllerFlags>): Promise<void> {
    this.#flags = flags;
    const all = this.#managers.map((manager) => manager.restart(this.#flagsOf(flags)));
    await Promise.all(all);
    if (this.#stopping.signal.aborted) await this.#stopManagers();
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the control plane is stopping"));
    await Promise.all([this.#stopManagers(), ...this.#rest]);
  }

  #makeManager(machine: number): ControllersProcess {
    const { environmentOf, hostOf, accessOf, profile, flags, resyncFactor, accounts } =
      this.#options;
    const environment = environmentOf(machine);
    const nodeName = nodeNameOf(machine);
    return new ControllersProcess({
      environment,
      access: accessOf(controllerManager),
      kubeletAccess: accessOf(controlPlaneNode),
      profile,
      flags: this.#flagsOf(flags),
      resyncFactor,
      accounts,
      klog: this.#klogOf(controllerManager, nodeName, new Klog(environment)),
      host: hostOf(machine),
      nodeName,
    });
  }

  /** A single manager needs no election, and saves its writes of every two seconds. */
  #flagsOf(flags: Partial<ControllerFlags>): Partial<ControllerFlags> {
    return { "leader-elect": this.#options.managers > 1, ...flags };
  }

  async #schedule(): Promise<void> {
    const { environmentOf, accessOf, profile } = this.#options;
    const environment = environmentOf(0);
    const access = accessOf(scheduler);
    const { gitVersion, logs } = profileNamed(profile);
    const klog = this.#klogOf(scheduler, controlPlaneNode, new Klog(environment));
    const line = profileNamed(profile).formats.lines.schedulerVersion;
    if (line?.verbosity === 0) {
      const isStructured = logs === "structured";
      const text = isStructured
        ? structured(line.text, { version: gitVersion })
        : `${line.text}${gitVersion}`;
      klog.write("I", line.source, text);
    }
    const userAgent = userAgentOf(scheduler, profileNamed(profile));
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent });
    await Promise.all([
      runScheduler({ ...environment, client, cluster: access.name }, this.#stopping.signal),
      this.#publish(scheduler, 0, [scheduler, "--leader-elect=false"]),
    ]);
  }

  async #show({ command, klog }: ServerComponent, machine: number): Promise<void> {
    this.#klogOf(apiServer, nodeNameOf(machine), klog);
    await this.#publish(apiServer, machine, command);
  }

  async #publish(component: string, machine: number, command: readonly string[]): Promise<void> {
    const { environmentOf, accessOf, profile } = this.#options;
    const environment = environmentOf(0);
    const { gitVersion } = profileNamed(profile);
    const userAgent = userAgentOf("kubelet", profileNamed(profile));
    const access = accessOf(controlPlaneNode);
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent });
    const nodeName = nodeNameOf(machine);
    await publishComponentPod(
      { ...environment, client, component, nodeName, gitVersion, command },
      this.#stopping.signal,
    );
  }

  #klogOf(component: string, nodeName: string, klog: Klog): Klog {
    this.#options.logs.set(componentPodName(component, nodeName), klog);
    return klog;
  }

  async #stopManagers(): Promise<void> {
    await Promise.all(this.#managers.map((manager) => manager.stop()));
  }
}

/** `control-plane`, `control-plane-2`, …: machines that run nothing but the components. */
export function nodeNameOf(machine: number): string {
  return machine === 0 ? controlPlaneNode : `${controlPlaneNode}-${machine + 1}`;
}
