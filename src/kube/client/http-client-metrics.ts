// The metrics of the Kubernetes transport: one set per registry, with a label for the cluster.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../metrics-of-registry.ts";
import type { Verb } from "./client.ts";

/** The metrics of one exchange. */
export interface ExchangeMetrics {
  received(bytes: number): void;
  /** The HTTP status or the error's code; for a stream when its headers are there. */
  answered(code: string, elapsedMs: number): void;
  /** Nothing more comes. */
  over(): void;
}

export function exchangeMetrics(registry: Registry, cluster: string, verb: Verb): ExchangeMetrics {
  const { requests, duration, bytes, inFlight } = metricsOf(registry);
  const labels = { cluster, verb };
  inFlight.inc(labels);
  return {
    received: (count) => bytes.inc(labels, count),
    answered: (code, elapsedMs) => {
      requests.inc({ ...labels, code });
      duration.observe(labels, elapsedMs / 1000);
    },
    over: () => inFlight.dec(labels),
  };
}

/** From a cached read on the same machine to the longest an API server lets a request take. */
const durationBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const metricsOf = oncePerRegistry(createMetrics);

function createMetrics(registry: Registry) {
  const labelNames = ["cluster", "verb"] as const;
  const registers = [registry];
  return {
    requests: new Counter({
      name: "lockstep_kube_requests_total",
      help: "Requests to the API server by result: HTTP status or error code",
      labelNames: [...labelNames, "code"] as const,
      registers,
    }),
    duration: new Histogram({
      name: "lockstep_kube_request_duration_seconds",
      help: "Time until the complete answer; for watches until the headers",
      labelNames,
      buckets: durationBuckets,
      registers,
    }),
    bytes: new Counter({
      name: "lockstep_kube_received_bytes_total",
      help: "Bytes of response bodies",
      labelNames,
      registers,
    }),
    inFlight: new Gauge({
      name: "lockstep_kube_requests_in_flight",
      help: "Requests in progress, including open watches",
      labelNames,
      registers,
    }),
  };
}
