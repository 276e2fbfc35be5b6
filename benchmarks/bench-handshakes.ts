// A process that makes TLS connections one after another, a few at a time, each with a full handshake
// and for another name, and no request.
import { connect } from "node:tls";
import type { HostRange, LoadResult } from "./bench-load.ts";
import { LatencyHistogram } from "./latency-histogram.ts";

/** The argument of the process. */
export interface HandshakeTarget {
  readonly port: number;
  readonly hosts: HostRange;
  readonly connections: number;
}

const { port, hosts, connections }: HandshakeTarget = JSON.parse(process.argv[2] ?? "{}");
const histogram = new LatencyHistogram();
let startedAt = 0;
let errors = 0;
let next = 0;
let runs = false;

process.on("message", (order) => {
  if (order === "begin") begin();
  process.send?.(order === "end" ? end() : { done: true });
});
process.send?.({ done: true });

function begin(): void {
  histogram.clear();
  errors = 0;
  runs = true;
  startedAt = performance.now();
  for (let number = 0; number < connections; number += 1) shakeHands();
}

function end(): LoadResult {
  runs = false;
  return {
    requests: histogram.count,
    errors,
    elapsedMs: performance.now() - startedAt,
    p50Ms: histogram.percentile(0.5),
    p99Ms: histogram.percentile(0.99),
  };
}

function shakeHands(): void {
  if (!runs) return;
  next = (next + 1) % hosts.count;
  const servername = hosts.name.replace("#", String(next));
  const askedAt = performance.now();
  // The certificate is one of the benchmark's own making, and not what is tested.
  const socket = connect({ host: "127.0.0.1", port, servername, rejectUnauthorized: false });
  socket.once("secureConnect", () => {
    histogram.add(performance.now() - askedAt);
    socket.destroy();
  });
  socket.on("error", () => {
    errors += runs ? 1 : 0;
  });
  socket.once("close", shakeHands);
}
