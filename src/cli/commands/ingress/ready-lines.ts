// The first lines of the log once everything is known: what each cluster has and what may not be
// seen there, and what is served. After that only what changes is worth a line.
import {
  ingressController,
  otherController,
} from "../../../decide/routing/ingress-class-filter.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { IngressReplica } from "../../../ingress/ingress-replica.ts";
import { clusterWatches } from "../../../sources/cluster-source.ts";

const lookAgainMs = 50;

export async function sayWhenReady(
  { timers, log }: Pick<Environment, "timers" | "log">,
  replica: IngressReplica,
  { className, signal }: { readonly className: string; readonly signal: AbortSignal },
): Promise<void> {
  const { loop } = replica;
  try {
    while (!loop.isReady) await timers.sleep(lookAgainMs, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return;
  }
  for (const source of loop.sources) {
    const notSeen = clusterWatches.filter((name) => source.watch(name).state !== "fresh");
    log.info("cluster watches: all listed", {
      cluster: source.cluster,
      ...source.counts,
      ...(notSeen.length > 0 && { notFresh: notSeen }),
    });
  }
  const { routes, truths } = loop.decisions;
  const endpoints = [...truths.values()].reduce(
    (sum, { truth }) => sum + truth.endpoints.length,
    0,
  );
  log.info("routes are ready", {
    hosts: routes.hosts.size,
    services: truths.size,
    endpoints,
    problems: routes.problems.length,
    ...(routes.problems.length > 0 && { namedIn: "/state and Events of the Ingresses" }),
  });
  const controller = otherController(loop.asked.classes(), className);
  if (controller === undefined || replica.shadow !== undefined) return;
  log.warn("the IngressClass belongs to another controller, so its Ingresses are ignored", {
    class: className,
    controller,
    ours: ingressController,
  });
}
