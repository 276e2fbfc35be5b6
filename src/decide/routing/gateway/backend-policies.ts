// Services and ServiceImports whose endpoints a BackendTLSPolicy wants to be asked over TLS. The proxy cannot
// verify endpoints by a CA that is data, so nothing is sent there, and the policy is not accepted. Pure.
import type { BackendTlsPolicy } from "../../../kube/kinds/backend-tls-policy.ts";
import type { HttpRoute } from "../../../kube/kinds/http-route.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { compareText } from "../../compare-text.ts";
import type { DecidedParent } from "./attachment.ts";
import type { GrantedTarget } from "./reference-grants.ts";

/** A Gateway of ours that leads to one of its Services. */
export interface DecidedPolicy {
  readonly policy: BackendTlsPolicy;
  /** `namespace/name`, in their order. */
  readonly gateways: readonly string[];
}

/** The policies that name a Service or a ServiceImport. */
export class BackendPolicies {
  /** By `keyOf`. */
  readonly #ofTarget = new Map<string, BackendTlsPolicy[]>();
  readonly #all: readonly BackendTlsPolicy[];

  constructor(policies: readonly BackendTlsPolicy[]) {
    this.#all = policies;
    for (const policy of policies) {
      const { namespace } = policy.metadata;
      for (const { group, kind, name } of policy.targets) {
        const key = keyOf({ group, kind, namespace, name });
        this.#ofTarget.set(key, [...(this.#ofTarget.get(key) ?? []), policy]);
      }
    }
  }

  /** `namespace/name` of one; undefined for a backend without any. */
  of(target: GrantedTarget): string | undefined {
    const [first] = this.#ofTarget.get(keyOf(target)) ?? [];
    return first && objectKey(first.metadata);
  }

  /** Equal for those that name the same backends. */
  get targets(): readonly string[] {
    return [...this.#ofTarget.keys()].sort(compareText);
  }

  decide(
    routes: Iterable<{ readonly route: HttpRoute; readonly parents: readonly DecidedParent[] }>,
  ): readonly DecidedPolicy[] {
    if (this.#all.length === 0) return [];
    const found = new Map<BackendTlsPolicy, Set<string>>();
    for (const { route, parents } of routes) {
      const gateways = parents.flatMap(({ attachments }) =>
        attachments.map(({ listener }) => objectKey(listener.origin)),
      );
      for (const target of targetsOf(route)) {
        for (const policy of this.#ofTarget.get(target) ?? []) {
          const known = found.get(policy) ?? new Set();
          for (const gateway of gateways) known.add(gateway);
          found.set(policy, known);
        }
      }
    }
    return this.#all.map((policy) => ({
      policy,
      gateways: [...(found.get(policy) ?? [])].sort(compareText),
    }));
  }
}

function targetsOf({ metadata, rules }: HttpRoute): readonly string[] {
  return rules.flatMap(({ backendRefs, filters }) => {
    const copies = filters.flatMap(({ mirror }) => mirror?.backend ?? []);
    return [...backendRefs, ...copies].map(
      ({ group, kind, namespace = metadata.namespace, name }) =>
        keyOf({ group, kind, namespace, name }),
    );
  });
}

function keyOf({ group, kind, ...named }: GrantedTarget): string {
  return `${group} ${kind} ${objectKey(named)}`;
}
