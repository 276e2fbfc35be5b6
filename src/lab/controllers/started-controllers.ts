// Which controllers a process runs: those of its version, or those given by the
// names they have since 1.27. Each is started with a client of its own.
import type { TokenKey } from "../../components/service-account-tokens.ts";
import type { ClientFactor, Profile } from "../versions/profile.ts";
import { runRootCaPublisher, runServiceAccountController } from "./access/namespace-objects.ts";
import { runRoleAggregation } from "./access/role-aggregation.ts";
import { runTokenSecrets } from "./access/token-secrets.ts";
import { type ControllerOptions, controllerQueue } from "./controller.ts";
import { runEndpointsController } from "./endpoints/endpoints-controller.ts";
import { runEndpointSliceController } from "./endpointslices/endpointslice-controller.ts";
import { runGarbageCollector } from "./garbage-collector.ts";
import { runMirroringController } from "./mirroring/mirroring-controller.ts";
import { runNamespaceController } from "./namespace-controller.ts";
import { runNodeLifecycle } from "./nodes/node-lifecycle.ts";
import { runPodGc } from "./nodes/pod-gc.ts";
import { runTaintEviction } from "./nodes/taint-eviction.ts";
import { runDeploymentController } from "./workloads/deployment-controller.ts";
import { runReplicaSetController } from "./workloads/replicaset-controller.ts";

/** cmd/kube-controller-manager/names/controller_names.go. */
export type ControllerName =
  | "endpoints-controller"
  | "endpointslice-controller"
  | "endpointslice-mirroring-controller"
  | "replicaset-controller"
  | "deployment-controller"
  | "garbage-collector-controller"
  | "node-lifecycle-controller"
  | "taint-eviction-controller"
  | "pod-garbage-collector-controller"
  | "namespace-controller"
  | "serviceaccount-controller"
  | "serviceaccount-token-controller"
  | "clusterrole-aggregation-controller"
  | "root-ca-certificate-publisher-controller";

/** For the controllers of accounts and roles. */
export interface AccountOptions {
  /** `--service-account-private-key-file`. */
  readonly tokenKey: TokenKey;
  /** `--root-ca-file`, its content. */
  readonly rootCa: string | undefined;
}

export interface StartedControllersOptions {
  readonly profile: Profile;
  readonly cluster: string;
  /** Of a controller with a client of this name, whose limits are multiplied by the factor. */
  readonly optionsFor: (client: string, factor?: ClientFactor) => ControllerOptions;
  /** Accounts and roles are looked after only where access is controlled. */
  readonly accounts: AccountOptions | undefined;
  /** All of the version unless given. */
  readonly only: readonly ControllerName[] | undefined;
}

type Run = (signal: AbortSignal) => Promise<void>;

/** Starts all controllers in this turn; the result ends when each of them has ended. */
export function startControllers(
  options: StartedControllersOptions,
  signal: AbortSignal,
): readonly Promise<void>[] {
  const { only } = options;
  return [...controllersOf(options)]
    .filter(([name]) => only === undefined || only.includes(name))
    .map(([, run]) => run(signal));
}

function controllersOf(options: StartedControllersOptions): ReadonlyMap<ControllerName, Run> {
  const { profile, cluster, optionsFor } = options;
  const { clientFactors, nodes } = profile;
  const nodeOptions = optionsFor("node-controller");
  const runs = new Map<ControllerName, Run>();
  runs.set("endpoints-controller", (signal) =>
    runEndpointsController(optionsFor("endpoint-controller"), signal),
  );
  const { endpointSlices, sliceMirroring } = profile;
  if (endpointSlices !== undefined) {
    runs.set("endpointslice-controller", (signal) =>
      runEndpointSliceController(optionsFor("endpointslice-controller"), endpointSlices, signal),
    );
  }
  if (sliceMirroring !== undefined) {
    const client = "endpointslicemirroring-controller";
    runs.set("endpointslice-mirroring-controller", (signal) =>
      runMirroringController(optionsFor(client), sliceMirroring, signal),
    );
  }
  runs.set("replicaset-controller", (signal) =>
    runReplicaSetController(optionsFor("replicaset-controller"), signal),
  );
  runs.set("deployment-controller", (signal) =>
    runDeploymentController(optionsFor("deployment-controller"), signal),
  );
  runs.set("garbage-collector-controller", (signal) =>
    runGarbageCollector(optionsFor("generic-garbage-collector", clientFactors.garbage), signal),
  );
  runs.set("node-lifecycle-controller", (signal) => runNodeLifecycle(nodeOptions, signal));
  runs.set("taint-eviction-controller", (signal) =>
    runTaintEviction(nodes.ownTaintClient ? optionsFor("node-controller") : nodeOptions, signal),
  );
  runs.set("pod-garbage-collector-controller", (signal) =>
    runPodGc(optionsFor("pod-garbage-collector"), signal),
  );
  runs.set("namespace-controller", (signal) => {
    const own = optionsFor("namespace-controller", clientFactors.namespace);
    return runNamespaceController(
      { ...own, cluster, queue: controllerQueue(own, "namespace") },
      signal,
    );
  });
  addAccountControllers(options, runs);
  return runs;
}

function addAccountControllers(
  { accounts, optionsFor }: StartedControllersOptions,
  runs: Map<ControllerName, Run>,
): void {
  if (accounts === undefined) return;
  const { rootCa } = accounts;
  runs.set("serviceaccount-controller", (signal) =>
    runServiceAccountController(optionsFor("service-account-controller"), signal),
  );
  runs.set("serviceaccount-token-controller", (signal) =>
    runTokenSecrets({ ...optionsFor("tokens-controller"), ...accounts }, signal),
  );
  runs.set("clusterrole-aggregation-controller", (signal) =>
    runRoleAggregation(optionsFor("clusterrole-aggregation-controller"), signal),
  );
  if (rootCa === undefined) return;
  runs.set("root-ca-certificate-publisher-controller", (signal) =>
    runRootCaPublisher(optionsFor("root-ca-cert-publisher"), rootCa, signal),
  );
}
