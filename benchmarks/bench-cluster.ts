// A cluster in a process of its own: an API server over loopback and the control plane, with all
// objects in storage from the start. It says where it is, and ends with its parent.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { startCluster } from "../src/lab/cluster.ts";
import { Ledger } from "../src/lab/kubelet/ledger.ts";
import { type ClusterSize, clusterObjects } from "./ingress-objects.ts";

export interface BenchClusterOptions {
  readonly size: ClusterSize;
  /** Requests a second of each controller. */
  readonly controllerQps: number;
}

export interface BenchClusterAddress {
  readonly url: string;
  readonly token: string;
}

const environment = nodeEnvironment({ log: { level: "warn" } });
const { size, controllerQps }: BenchClusterOptions = JSON.parse(process.argv[2] ?? "{}");

process.once("disconnect", () => process.exit(0));
const cluster = await startCluster({
  name: "bench",
  environmentOf: () => environment,
  hostOf: () => "127.0.0.1",
  ports: [0],
  nodes: 0,
  flags: { "kube-api-qps": controllerQps, "kube-api-burst": controllerQps },
  podNetwork: "10.64",
  ledger: new Ledger(environment),
  objects: clusterObjects(size, environment.clock.wallMs()),
});
const [server] = cluster.servers;
const address: BenchClusterAddress = { url: server?.url ?? "", token: server?.token ?? "" };
process.send?.(address);
