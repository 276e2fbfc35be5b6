// Every benchmark by the name it is called by.
import { apiserverBenchmark } from "./apiserver.ts";
import type { Benchmark } from "./benchmark.ts";
import { doctorBenchmark } from "./doctor.ts";
import { gatewayBenchmark } from "./gateway.ts";
import { historyBenchmark } from "./history.ts";
import { ingressBenchmark } from "./ingress.ts";
import { journeysBenchmark } from "./journeys.ts";
import { kubeBenchmark } from "./kube.ts";
import { pageBenchmark } from "./page.ts";
import { peersBenchmark } from "./peers.ts";
import { proxyBenchmark } from "./proxy.ts";
import { scaleBenchmark } from "./scale.ts";
import { simulationBenchmark } from "./simulation.ts";
import { syncBenchmark } from "./sync.ts";
import { tenantsBenchmark } from "./tenants.ts";

export const allBenchmarks: Readonly<Record<string, Benchmark>> = {
  kube: kubeBenchmark,
  apiserver: apiserverBenchmark,
  simulation: simulationBenchmark,
  proxy: proxyBenchmark,
  ingress: ingressBenchmark,
  peers: peersBenchmark,
  gateway: gatewayBenchmark,
  scale: scaleBenchmark,
  sync: syncBenchmark,
  journeys: journeysBenchmark,
  history: historyBenchmark,
  tenants: tenantsBenchmark,
  doctor: doctorBenchmark,
  page: pageBenchmark,
};
