// The metrics of a work queue as components of before Kubernetes 1.14 show them: a set of metrics
// for each queue, named after it, with times in microseconds (1.7 to 1.13:
// pkg/util/workqueue/prometheus/prometheus.go).
import { Counter, Gauge, type Registry } from "prom-client";
import { defaultMaxAgeMs, GoSummary } from "../../components/go-summary.ts";
import type { Clock } from "../../environment/clock.ts";
import type { QueueMetrics } from "../../kube/workqueue/workqueue-metrics.ts";

const microsecondsPerMs = 1_000;

/** One queue per name and registry. */
export function namedQueueMetrics(registry: Registry, name: string, clock: Clock): QueueMetrics {
  const registers = [registry];
  const depth = new Gauge({
    name: `${name}_depth`,
    help: `Current depth of workqueue: ${name}`,
    registers,
  });
  const adds = new Counter({
    name: `${name}_adds`,
    help: `Total number of adds handled by workqueue: ${name}`,
    registers,
  });
  const retries = new Counter({
    name: `${name}_retries`,
    help: `Total number of retries handled by workqueue: ${name}`,
    registers,
  });
  const times = { labelNames: [], registry, clock, maxAgeMs: defaultMaxAgeMs };
  const latency = new GoSummary({
    ...times,
    name: `${name}_queue_latency`,
    help: `How long an item stays in workqueue${name} before being requested.`,
  });
  const work = new GoSummary({
    ...times,
    name: `${name}_work_duration`,
    help: `How long processing an item from workqueue${name} takes.`,
  });
  return {
    added: () => {
      depth.inc();
      adds.inc();
    },
    taken: (waitedMs) => {
      depth.dec();
      latency.record({}, Math.floor(waitedMs * microsecondsPerMs));
    },
    finished: (workedMs) => work.record({}, Math.floor(workedMs * microsecondsPerMs)),
    retried: () => retries.inc(),
    closed: () => undefined,
  };
}
