// Priority and fairness: a bounded number of seats for running requests, in separate levels, with a
// queue for each flow. Simpler than the real one: a request takes one seat, however much it lists;
// no level borrows from another; each flow has its own queue instead of a hand of shared ones.
import { createHash } from "node:crypto";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Clock } from "../../environment/clock.ts";
import type { Headers, IncomingRequest } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";
import type { Access } from "../access/attributes.ts";
import { FlowLevel } from "./flow-level.ts";
import {
  catchAllSchema,
  type FlowSchema,
  flowSchemas,
  type PriorityLevel,
  priorityLevels,
  queueLengthLimit,
} from "./flow-schemas.ts";

interface FlowControlOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics: Registry;
  /** `--max-requests-inflight` and its twin for writes, together. */
  readonly seats?: number;
}

/** The defaults of the two flags, 400 and 200, which priority and fairness adds. */
const defaultSeats = 600;

/** A quarter of `--request-timeout`, whose default is a minute. */
const maxWaitMs = 15_000;

/** The schema and flow of one request. */
interface Flow {
  readonly schema: FlowSchema;
  readonly name: string;
  /** For the answer, a refusal too. */
  readonly headers: Headers;
}

interface SeatOptions {
  readonly request: Pick<IncomingRequest, "closed">;
  /** A watch needs its seat only to begin. */
  readonly isWatch: boolean;
}

export class FlowControl {
  readonly #metrics: FlowMetrics;
  /** By name; the exempt level has none. */
  readonly #levels = new Map<string, FlowLevel>();

  constructor(options: FlowControlOptions) {
    this.#metrics = flowMetrics(options.metrics);
    for (const level of priorityLevels) {
      if (level.shares !== undefined) this.#levels.set(level.name, this.#makeLevel(level, options));
    }
  }

  classify(access: Access): Flow {
    const { user, attributes } = access;
    const schema = flowSchemas.find((one) => one.matches(user, attributes)) ?? catchAllSchema;
    return { schema, name: flowOf(schema, access), headers: headersOf(schema) };
  }

  /** Waits for a seat and returns an idempotent function that leaves it. Throws 429. */
  async enter({ schema, name }: Flow, { request, isWatch }: SeatOptions): Promise<() => void> {
    const level = this.#levels.get(schema.level.name);
    await level?.enter(name, request.closed);
    const metrics = this.#metrics;
    metrics.dispatched(schema.name, schema.level.name);
    metrics.executing(schema.name, schema.level.name, 1);
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      metrics.executing(schema.name, schema.level.name, -1);
      level?.leave();
    };
    if (isWatch) release();
    return release;
  }

  #makeLevel({ name, shares = 0, queuing }: PriorityLevel, options: FlowControlOptions): FlowLevel {
    const { clock, timers, seats = defaultSeats } = options;
    const allShares = priorityLevels.reduce((sum, one) => sum + (one.shares ?? 0), 0);
    const own = Math.ceil((seats * shares) / allShares);
    this.#metrics.limit(name, own);
    const { queues, handSize } = queuing ?? { queues: 0, handSize: 0 };
    return new FlowLevel({
      clock,
      timers,
      seats: own,
      maxQueuedPerFlow: handSize * queueLengthLimit,
      maxQueued: queues * queueLengthLimit,
      maxWaitMs,
      onRejected: (flow, reason) => this.#metrics.rejected(schemaOf(flow), name, reason),
      onQueued: (flow, change) => this.#metrics.queued(schemaOf(flow), name, change),
      onWaited: (flow, waitedMs, isExecuted) =>
        this.#metrics.waited(schemaOf(flow), name, waitedMs, isExecuted),
    });
  }
}

/** The name of the schema comes first; metrics use it. */
function flowOf({ name, distinguishes }: FlowSchema, { user, attributes }: Access): string {
  const namespace = attributes.type === "resource" ? attributes.namespace : "";
  const who = distinguishes === "user" ? user.name : namespace;
  return `${name} ${distinguishes === undefined ? "" : who}`;
}

function schemaOf(flow: string): string {
  return flow.slice(0, flow.indexOf(" "));
}

const headersBySchema = new Map<FlowSchema, Headers>();

function headersOf(schema: FlowSchema): Headers {
  let headers = headersBySchema.get(schema);
  if (headers === undefined) {
    headers = {
      "x-kubernetes-pf-flowschema-uid": uidOf(`flowschema ${schema.name}`),
      "x-kubernetes-pf-prioritylevel-uid": uidOf(`prioritylevel ${schema.level.name}`),
    };
    headersBySchema.set(schema, headers);
  }
  return headers;
}

/** The same in all servers and runs: there is no object that could have another. */
function uidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

/** Metrics of priority levels, under the names of the real server. */
interface FlowMetrics {
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

const flowMetrics = oncePerRegistry((registry: Registry): FlowMetrics => {
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
