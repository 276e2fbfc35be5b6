// What a server tells of its priority levels, under the names of the real one.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

export interface FlowMetrics {
  dispatched(schema: string, level: string): void;
  rejected(schema: string, level: string, reason: string): void;
  waited(schema: string, level: string, waitedMs: number, isExecuted: boolean): void;
  limit(level: string, seats: number): void;
  /** One request more, or one less. */
  executing(schema: string, level: string, change: 1 | -1): void;
  queued(schema: string, level: string, change: 1 | -1): void;
}

const prefix = "apiserver_flowcontrol_";

/** pkg/util/flowcontrol/metrics: requestDurationSecondsBuckets. */
const waitBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];

export const flowMetrics = oncePerRegistry((registry: Registry): FlowMetrics => {
  const registers = [registry];
  const both = ["priority_level", "flow_schema"] as const;
  const dispatched = new Counter({
    name: `${prefix}dispatched_requests_total`,
    help: "Number of requests executed by API Priority and Fairness subsystem",
    labelNames: both,
    registers,
  });
  const rejected = new Counter({
    name: `${prefix}rejected_requests_total`,
    help: "Number of requests rejected by API Priority and Fairness subsystem",
    labelNames: [...both, "reason"] as const,
    registers,
  });
  const waited = new Histogram({
    name: `${prefix}request_wait_duration_seconds`,
    help: "Length of time a request spent waiting in its queue",
    labelNames: [...both, "execute"] as const,
    buckets: waitBuckets,
    registers,
  });
  const limit = new Gauge({
    name: `${prefix}nominal_limit_seats`,
    help: "Nominal number of execution seats configured for each priority level",
    labelNames: ["priority_level"] as const,
    registers,
  });
  const queued = new Gauge({
    name: `${prefix}current_inqueue_requests`,
    help: "Number of requests currently pending in queues of the API Priority and Fairness subsystem",
    labelNames: both,
    registers,
  });
  const executing = new Gauge({
    name: `${prefix}current_executing_requests`,
    help:
      "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the " +
      "API Priority and Fairness subsystem",
    labelNames: both,
    registers,
  });
  return {
    dispatched: (flow_schema, priority_level) => dispatched.inc({ priority_level, flow_schema }),
    rejected: (flow_schema, priority_level, reason) =>
      rejected.inc({ priority_level, flow_schema, reason }),
    waited: (flow_schema, priority_level, waitedMs, isExecuted) => {
      const execute = String(isExecuted);
      waited.observe({ priority_level, flow_schema, execute }, waitedMs / 1000);
    },
    limit: (priority_level, seats) => limit.set({ priority_level }, seats),
    executing: (flow_schema, priority_level, change) =>
      executing.inc({ priority_level, flow_schema }, change),
    queued: (flow_schema, priority_level, change) =>
      queued.inc({ priority_level, flow_schema }, change),
  };
});
