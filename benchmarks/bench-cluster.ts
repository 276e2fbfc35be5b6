// A cluster in a process of its own: an API server over loopback and the control plane, with all
// objects in storage from the start. It says where it is, and ends with its parent.
import { webcrypto } from "node:crypto";
import { makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { startCluster } from "../src/lab/cluster.ts";
import { withoutKubelets } from "../src/lab/controllers/flags.ts";
import { Ledger } from "../src/lab/kubelet/ledger.ts";
import { type ClusterSize, clusterObjects } from "./ingress-objects.ts";

export interface BenchClusterOptions {
  readonly size: ClusterSize;
  /** Requests a second of each controller. */
  readonly controllerQps: number;
  /** Clients of client-go send no token without it. */
  readonly hasTls?: boolean;
}

export interface BenchClusterAddress {
  readonly url: string;
  readonly token: string;
  /** PEM of the authority; absent without TLS. */
  readonly ca?: string;
}

const environment = nodeEnvironment({ log: { level: "warn" } });
const host = "127.0.0.1";
const { size, controllerQps, hasTls }: BenchClusterOptions = JSON.parse(process.argv[2] ?? "{}");
const tls = hasTls === true ? await serverTls() : undefined;

process.once("disconnect", () => process.exit(0));
const cluster = await startCluster({
  name: "bench",
  environmentOf: () => environment,
  hostOf: () => host,
  ...(tls !== undefined && { tls }),
  ports: [0],
  nodes: 0,
  flags: {
    ...withoutKubelets,
    "kube-api-qps": controllerQps,
    "kube-api-burst": controllerQps,
  },
  podNetwork: "10.64",
  ledger: new Ledger(environment),
  objects: clusterObjects(size, environment.clock.wallMs()),
});
const [server] = cluster.servers;
const address: BenchClusterAddress = {
  url: server?.url ?? "",
  token: server?.token ?? "",
  ...(tls !== undefined && { ca: tls.ca }),
};
process.send?.(address);

async function serverTls() {
  const { clock } = environment;
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "lockstep-bench" });
  return { ca: authority.ca, ...(await authority.issueServer([host])) };
}
