// How many Ingresses of a class have the right addresses in their status, over time: what `kubectl get
// ingress --watch` would have shown.
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  type Ingress,
  ingressKind,
  type LoadBalancerAddress,
} from "../../../kube/kinds/ingress.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";

export interface StatusWatchOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly className: string;
  readonly now: () => number;
  /** Whether these are the right addresses at present. */
  readonly isRight: (addresses: readonly LoadBalancerAddress[]) => boolean;
}

export class StatusWatch {
  readonly #options: StatusWatchOptions;
  readonly #ingresses: Reflector<Ingress>;
  /** Each time the number changed: when, and how many were right from then on. */
  readonly #points: [atMs: number, right: number][] = [];

  constructor(options: StatusWatchOptions) {
    this.#options = options;
    const handlers = [() => this.look()];
    this.#ingresses = new Reflector({
      ...options,
      checks: noChecks,
      kind: ingressKind,
      indexes: {},
      handlers,
    });
  }

  start(): void {
    this.#ingresses.start();
  }

  stop(): Promise<void> {
    return this.#ingresses.stop();
  }

  get points(): readonly (readonly [atMs: number, right: number])[] {
    return this.#points;
  }

  get total(): number {
    return this.#own().length;
  }

  get right(): number {
    return this.#own().filter(({ loadBalancer }) => this.#options.isRight(loadBalancer)).length;
  }

  /** How many name no address at all. */
  get empty(): number {
    return this.#own().filter(({ loadBalancer }) => loadBalancer.length === 0).length;
  }

  /** Counts again, because the right addresses may have changed. */
  look(): void {
    const right = this.right;
    if (this.#points.at(-1)?.[1] !== right) this.#points.push([this.#options.now(), right]);
  }

  /** For how long between the two moments not all were right. */
  wrongMs(fromMs: number, toMs: number): number {
    let wrongMs = 0;
    for (const [index, [atMs, right]] of this.#points.entries()) {
      const untilMs = Math.min(this.#points[index + 1]?.[0] ?? toMs, toMs);
      if (right < this.total) wrongMs += Math.max(0, untilMs - Math.max(atMs, fromMs));
    }
    return wrongMs;
  }

  /** When all were first right after a moment. */
  firstRightAfter(fromMs: number): number | undefined {
    if (this.#isRightAt(fromMs)) return fromMs;
    return this.#points.find(([atMs, right]) => atMs >= fromMs && right === this.total)?.[0];
  }

  /** Since when, at a moment, all had been right without a break; undefined when they were not. */
  rightSince(atMs: number): number | undefined {
    const last = this.#points.findLast((point) => point[0] <= atMs);
    return last !== undefined && last[1] === this.total ? last[0] : undefined;
  }

  #isRightAt(atMs: number): boolean {
    return this.#points.findLast((point) => point[0] <= atMs)?.[1] === this.total;
  }

  #own(): readonly Ingress[] {
    const { className } = this.#options;
    return this.#ingresses.store
      .snapshot()
      .filter(({ ingressClassName }) => ingressClassName === className);
  }
}
