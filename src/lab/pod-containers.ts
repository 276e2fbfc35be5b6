// Containers of pods that need more than the ordinary program of the lab: for each pod of an
// application one is started when the pod runs and ended when the pod is deleted. A machine can lose its
// credentials: then it receives no events, and its containers continue without regard to their pods.
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { noChecks } from "../kube/reflector/reflector-parts.ts";
import type { Change } from "../kube/store/store-change.ts";

export interface Container {
  /** SIGTERM. Idempotent. */
  stop(): Promise<void>;
}

export interface PodContainersOptions<C extends Container>
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly namespace: string;
  /** `app=nginx-ingress-controller`. */
  readonly labelSelector: string;
  readonly start: (pod: Pod) => Promise<C>;
  /** The API has no such pod any more; its container may run on all the same. */
  readonly onGone?: (pod: Pod) => void;
}

export interface RunningContainer<C extends Container> {
  /** As it was when the container began. */
  readonly pod: Pod;
  readonly container: C;
  /** On a machine that receives no events any more. */
  readonly isStray: boolean;
}

interface Held<C extends Container> {
  readonly pod: Pod;
  readonly starting: Promise<C>;
  container: C | undefined;
}

export class PodContainers<C extends Container> {
  readonly #options: PodContainersOptions<C>;
  readonly #pods: Reflector<Pod>;
  /** By the pod's uid: those that were started and not yet asked to end. */
  readonly #held = new Map<string, Held<C>>();
  readonly #strayNodes = new Set<string>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: PodContainersOptions<C>) {
    this.#options = options;
    this.#pods = new Reflector({
      ...options,
      checks: noChecks,
      kind: podKind,
      indexes: {},
      handlers: [(change) => this.#onPodChange(change)],
    });
  }

  start(): void {
    this.#pods.start();
  }

  /** From now on the containers of the node receive no events. */
  strand(node: string): void {
    this.#strayNodes.add(node);
  }

  /** Those that have begun, in the order in which they did. */
  running(): readonly RunningContainer<C>[] {
    return [...this.#held.values()].flatMap(({ pod, container }) =>
      container === undefined
        ? []
        : [{ pod, container, isStray: this.#strayNodes.has(pod.nodeName) }],
    );
  }

  /** An operator has found the machine and ends its containers. */
  async stopOn(node: string): Promise<void> {
    for (const { pod } of this.#held.values()) {
      if (pod.nodeName === node) this.#end(pod);
    }
    await Promise.all(this.#ending);
  }

  /** Ends every container, strays included. Idempotent. */
  async stop(): Promise<void> {
    await this.#pods.stop();
    for (const { pod } of this.#held.values()) this.#end(pod);
    await Promise.all(this.#ending);
  }

  #onPodChange(change: Change<Pod>): void {
    const pod = change.object;
    if (change.type === "deleted") this.#options.onGone?.(pod);
    if (this.#strayNodes.has(pod.nodeName)) return;
    const isLeaving = change.type === "deleted" || pod.metadata.deletionTimestamp !== undefined;
    if (isLeaving) this.#end(pod);
    else if (pod.phase === "Running" && !this.#held.has(pod.metadata.uid)) this.#begin(pod);
  }

  #begin(pod: Pod): void {
    const { start, log } = this.#options;
    const held: Held<C> = { pod, starting: start(pod), container: undefined };
    this.#held.set(pod.metadata.uid, held);
    held.starting.then(
      (container) => {
        held.container = container;
      },
      (error: unknown) => {
        this.#held.delete(pod.metadata.uid);
        log.error("a container could not be started", { pod: pod.metadata.name, error });
      },
    );
  }

  #end({ metadata: { uid } }: Pod): void {
    const held = this.#held.get(uid);
    if (held === undefined) return;
    this.#held.delete(uid);
    // One that could not start has said so already and has nothing to end.
    const ended = held.starting.then(
      (container) => container.stop(),
      () => undefined,
    );
    const ending = ended.finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
