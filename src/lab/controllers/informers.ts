// The watches that controllers of a process share, created on first use and started together. Their
// client has its own rate limit, so that writes of a controller cannot delay events of all.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Kind, Projected } from "../../kube/kinds/kind.ts";
import { leaseKind } from "../../kube/kinds/lease.ts";
import { namespaceKind } from "../../kube/kinds/namespace.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { IndexFunctions } from "../../kube/store/store-view.ts";
import { controlledServiceKind } from "./controlled-service.ts";
import { Informer } from "./informer.ts";
import { wholeNodeKind } from "./nodes/whole-node.ts";
import { ownedPodKind } from "./owned-pod.ts";
import {
  type OwnerReference,
  wholeClusterRoles,
  wholeConfigMaps,
  wholeDeployments,
  wholeEndpoints,
  wholeReplicaSets,
  wholeSecrets,
  wholeServiceAccounts,
  wholeSlices,
} from "./whole-object.ts";

export interface InformersOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly resyncMs: number;
}

/** Methods that every informer has, for any kind. */
type AnyInformer = Pick<Informer<Projected, never>, "start" | "waitForSync" | "stop">;

/** Where kubelets renew the Leases of their nodes. */
export const nodeLeaseNamespace = "kube-node-lease";

/** Under this a service is found by its pods: each has it, whatever its labels. */
const everyPod = "*";

export class Informers {
  readonly #options: InformersOptions;
  readonly #used: AnyInformer[] = [];

  readonly pods = this.#once(ownedPodKind, {
    label: ({ metadata: { namespace, labels } }) => [
      `${namespace}/${everyPod}`,
      ...Object.entries(labels).map(([name, value]) => `${namespace}/${name}=${value}`),
    ],
    owner: ownerUids,
    node: ({ nodeName }) => nodeName,
  });
  readonly services = this.#once(controlledServiceKind, { selector: selectorKey });
  readonly nodes = this.#once(wholeNodeKind, {});
  /** The kubelets' alone; the real one watches those of leaders too and passes over them. */
  readonly nodeLeases = this.#once(leaseKind, {}, { namespace: nodeLeaseNamespace });
  readonly endpoints = this.#once(wholeEndpoints, {});
  readonly slices = this.#once(wholeSlices, {
    service: ({ metadata: { namespace, labels } }) =>
      `${namespace}/${labels["kubernetes.io/service-name"] ?? ""}`,
    owner: ownerUids,
  });
  readonly replicaSets = this.#once(wholeReplicaSets, { owner: ownerUids });
  readonly deployments = this.#once(wholeDeployments, {});
  readonly namespaces = this.#once(namespaceKind, {});
  readonly serviceAccounts = this.#once(wholeServiceAccounts, {});
  readonly secrets = this.#once(wholeSecrets, {});
  readonly configMaps = this.#once(wholeConfigMaps, {});
  readonly clusterRoles = this.#once(wholeClusterRoles, {});

  constructor(options: InformersOptions) {
    this.#options = options;
  }

  /** Starts the informers that were requested until now. */
  start(): void {
    for (const informer of this.#used) informer.start();
  }

  /** Resolves when every handler has received all objects of the start. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#used.map((informer) => informer.waitForSync(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#used.map((informer) => informer.stop()));
  }

  #once<T extends Projected, I extends string>(
    kind: Kind<T>,
    indexes: IndexFunctions<T, I>,
    scope: { readonly namespace?: string } = {},
  ): () => Informer<T, I> {
    let made: Informer<T, I> | undefined;
    return () => {
      if (made === undefined) {
        made = new Informer({ ...this.#options, ...scope, kind, indexes });
        this.#used.push(made);
      }
      return made;
    };
  }
}

/** Where the pods a service may select are indexed; the rest of its selector filters them. */
export function selectorKey({ metadata, selector }: Service): string | undefined {
  if (selector === undefined) return undefined;
  const [first] = Object.entries(selector);
  return `${metadata.namespace}/${first === undefined ? everyPod : first.join("=")}`;
}

function ownerUids({ owners }: { readonly owners: readonly OwnerReference[] }): readonly string[] {
  return owners.map(({ uid }) => uid);
}
