// The same experiment in two worlds: on the real control plane in real time, and in the lab in
// virtual time. An experiment sees only what any client of a cluster sees.
import { elapsedMs } from "../../../src/environment/clock.ts";
import type { Environment } from "../../../src/environment/environment.ts";
import type { KubeClient, KubeRequest } from "../../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../../src/kube/client/http-client.ts";
import type { ClusterAccess } from "../../../src/kube/credentials/credentials.ts";
import type { Kind, Projected } from "../../../src/kube/kinds/kind.ts";
import { Reflector } from "../../../src/kube/reflector/reflector.ts";
import { noChecks } from "../../../src/kube/reflector/reflector-parts.ts";
import type { Change } from "../../../src/kube/store/store-change.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../../../src/lab/cluster.ts";
import { Ledger } from "../../../src/lab/kubelet/ledger.ts";
import { simulate } from "../../../src/simulation/simulation.ts";

export interface Trial extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  /** With every right, and no limit of its own. */
  readonly client: KubeClient;
}

const requestDeadlineMs = 30_000;
const pollMs = 20;

/** Several times what the slowest experiment takes. */
const longestWaitMs = 300_000;

/** Runs an experiment in a lab of its own; its figure depends on the seed alone. */
export async function inLab<Figure>(
  seed: number,
  options: Partial<ClusterOptions>,
  experiment: (trial: Trial, cluster: Cluster) => Promise<Figure>,
): Promise<Figure> {
  return await simulate({ seed }, async (simulation) => {
    const cluster = await startCluster({
      name: "lab",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      nodes: 0,
      podNetwork: "10.201",
      ledger: new Ledger(simulation.host("lab")),
      ...options,
    });
    try {
      return await experiment(trialOn(simulation.host("client"), cluster.access), cluster);
    } finally {
      await cluster.stop();
    }
  });
}

export function trialOn(environment: Environment, access: ClusterAccess): Trial {
  const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "trial" });
  return { ...environment, client };
}

/** Follows a collection as client-go does; initial objects come as added. */
export async function follow<T extends Projected>(
  trial: Trial,
  kind: Kind<T>,
  namespace: string | undefined,
  handler: (change: Change<T>) => void,
): Promise<Reflector<T>> {
  const reflector = new Reflector({
    ...trial,
    cluster: "trial",
    checks: noChecks,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    indexes: {},
    handlers: [handler],
  });
  reflector.start();
  await reflector.waitForSync();
  return reflector;
}

export async function send(
  trial: Trial,
  method: "POST" | "PUT" | "PATCH",
  path: string,
  body: object,
): Promise<void> {
  const verb: KubeRequest["verb"] = method === "POST" ? "create" : "update";
  const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const request = { verb, method, path, body, contentType, deadlineMs: requestDeadlineMs };
  await trial.client.request(request);
}

export async function until(
  { clock, timers }: Trial,
  what: string,
  holds: () => boolean,
): Promise<void> {
  const beganAt = clock.monotonicMs();
  while (!holds()) {
    if (elapsedMs(beganAt, clock.monotonicMs()) > longestWaitMs) {
      throw new Error(`waited in vain until ${what}`);
    }
    await timers.sleep(pollMs);
  }
}
