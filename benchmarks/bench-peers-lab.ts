// A lab cluster in a process of its own, so that its work delays no request and no clock of the
// benchmark. It says how clients reach it, and ends with its parent.
import { webcrypto } from "node:crypto";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { startLab } from "../src/lab/lab.ts";

export interface PeersLabOptions {
  readonly nodes: number;
  /** How late the controllers write EndpointSlices and Endpoints. */
  readonly lateMs: number;
}

const { nodes, lateMs }: PeersLabOptions = JSON.parse(process.argv[2] ?? "{}");

process.once("disconnect", () => process.exit(0));
const lab = await startLab({
  environment: nodeEnvironment({ log: { write: () => undefined } }),
  crypto: webcrypto,
  clusters: 1,
  apiservers: 1,
  nodes,
  host: "127.0.0.1",
  firstPort: 0,
  flags: {
    "endpoint-updates-batch-period": lateMs,
    "endpointslice-updates-batch-period": lateMs,
  },
});
process.send?.(lab.contexts[0]);
