// The Ingresses of the business clusters beside those of the access cluster, and the writes that each
// namespace needs. It only reads; `RuleSyncer` writes.
import type { Registry } from "prom-client";
import { planRules, type RulesPlan } from "../../decide/syncing/rules/plan-rules.ts";
import type { RuleSettings } from "../../decide/syncing/rules/rule-settings.ts";
import type { SyncPolicy } from "../../decide/syncing/sync-policy.ts";
import type { Environment } from "../../environment/environment.ts";
import type { ClusterClient } from "../slices/sync-view.ts";
import { RuleSource } from "./rule-source.ts";
import { RuleTarget } from "./rule-target.ts";

export interface RuleViewOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  /** In the order of preference. */
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient;
  readonly settings: RuleSettings;
  readonly policy: Pick<SyncPolicy, "names" | "forgottenClusters" | "selection">;
  /** Why the service is not synced, in words; undefined when it is. */
  readonly obstacle: (namespace: string, service: string) => string | undefined;
  /** Called synchronously: this namespace has to be looked at. */
  readonly onNamespace: (namespace: string, isNews: boolean) => void;
  readonly metrics?: Registry;
}

export class RuleView {
  readonly target: RuleTarget;
  readonly sources: readonly RuleSource[];
  readonly #options: RuleViewOptions;
  /** Those with an Ingress in a business cluster, or with a copy. */
  readonly #namespaces = new Set<string>();
  readonly #over = new AbortController();

  constructor(options: RuleViewOptions) {
    this.#options = options;
    const { settings, policy, ...others } = options;
    this.target = new RuleTarget({
      ...others,
      ...options.target,
      names: policy.names,
      tlsSecrets: settings.tlsSecrets,
      onNamespace: (namespace, isOwn) => {
        if (isOwn) this.#namespaces.add(namespace);
        this.#look(namespace, false);
      },
    });
    // A cluster that imports from others does not need copies of its own Ingresses.
    const foreign = options.sources.filter(({ cluster }) => cluster !== options.target.cluster);
    this.sources = foreign.map(
      ({ cluster, client }) =>
        new RuleSource({
          ...others,
          cluster,
          client,
          knownBefore: { before: () => this.#copiedFrom(cluster) },
          onNamespace: (namespace) => {
            if (namespace === undefined) {
              this.lookAgain();
              return;
            }
            this.#namespaces.add(namespace);
            this.#look(namespace, true);
          },
        }),
    );
  }

  get namespaces(): Iterable<string> {
    return this.#namespaces;
  }

  /** Undefined while the Ingresses of the access cluster are not known. */
  plan(namespace: string): RulesPlan | undefined {
    if (!this.target.isKnown) return undefined;
    const { settings, policy, obstacle } = this.#options;
    const { names, forgottenClusters, selection } = policy;
    const plan = planRules({
      namespace,
      sources: this.sources.map((source) => source.offer(namespace)),
      target: this.target.state(namespace),
      settings,
      names,
      ...(forgottenClusters === undefined ? {} : { forgottenClusters }),
      obstacle: (service) => obstacle(namespace, service),
      isExpected: selection.covers?.(namespace) === true,
    });
    for (const source of this.sources) {
      source.wantSecrets(namespace, plan.wantedSecrets.get(source.cluster) ?? new Set());
    }
    return plan;
  }

  /** The clusters whose Ingresses are not known yet, and why, as text. */
  waitingFor(): readonly string[] {
    return [this.target, ...this.sources].flatMap(({ cluster, isKnown, problem }) =>
      isKnown ? [] : [`${cluster}: ingresses are not listed yet (${problem ?? "no answer yet"})`],
    );
  }

  /** A service of the namespace may be synced now, or not any more. */
  serviceChanged(namespace: string): void {
    this.#look(namespace, true);
  }

  lookAgain(): void {
    for (const namespace of this.#namespaces) this.#options.onNamespace(namespace, false);
  }

  /** Begins to watch. The sources come later: the copies show what they must have had. */
  start(): void {
    const look = () => this.lookAgain();
    const onSecrets = (namespace: string) => this.#look(namespace, false);
    const { signal } = this.#over;
    this.target.start(signal, onSecrets).then(
      () => {
        for (const source of this.sources) source.start(look);
        look();
      },
      () => undefined,
    );
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#over.abort(new Error("the view was stopped"));
    await Promise.all([this.target.stop(), ...this.sources.map((source) => source.stop())]);
  }

  #look(namespace: string, isNews: boolean): void {
    if (this.#namespaces.has(namespace)) this.#options.onNamespace(namespace, isNews);
  }

  #copiedFrom(cluster: string): number {
    let count = 0;
    for (const namespace of this.#namespaces) count += this.target.copiesOf(cluster, namespace);
    return count;
  }
}
