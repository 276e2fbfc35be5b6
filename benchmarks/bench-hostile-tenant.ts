// The hostile tenant in a process of its own: between `begin` and `end` it writes the largest objects
// that the API server takes, one after the other, at a bounded rate; then it removes all of them.
import { webcrypto } from "node:crypto";
import { makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { tryToWrite, write } from "../tests/tenants/api-write.ts";
import { type HostileAct, HostileTenant } from "../tests/tenants/hostile-tenant.ts";
import type { BenchClusterAddress } from "./bench-cluster.ts";

export interface HostileTarget {
  readonly cluster: BenchClusterAddress;
  readonly namespace: string;
  readonly writesPerSecond: number;
}

/** The answer to `end`. */
export interface HostileResult {
  readonly writes: number;
  readonly bytes: number;
}

const environment = nodeEnvironment({ log: { level: "warn" } });
const target: HostileTarget = JSON.parse(process.argv[2] ?? "{}");
const { url, token } = target.cluster;
const cluster = fixedAccess({ name: "bench", server: url, token });
const client = new HttpKubeClient({ ...environment, cluster, userAgent: "hostile" });
const authority = await makeAuthority({
  clock: environment.clock,
  crypto: webcrypto,
  name: "hostile",
});
const tenant = new HostileTenant({
  namespace: target.namespace,
  random: new SeededRandom({ seed: 1, name: "hostile" }),
  victims: () => [],
  largestShare: 1,
  keyPair: await authority.issueServer(["hostile.example"]),
});

let runs = false;
let counted = { writes: 0, bytes: 0 };
let running: Promise<void> = Promise.resolve();

process.once("disconnect", () => process.exit(0));
process.on("message", (order) => void obey(String(order)));
await write(client, {
  method: "POST",
  path: "/api/v1/namespaces",
  body: { metadata: { name: target.namespace } },
});
process.send?.({ done: true });

async function obey(order: string): Promise<void> {
  if (order === "begin") {
    runs = true;
    counted = { writes: 0, bytes: 0 };
    running = harm();
    process.send?.({ done: true });
    return;
  }
  runs = false;
  await running;
  const result: HostileResult = counted;
  await writeAll(tenant.removeAll(), 0);
  process.send?.(result);
}

/** Thousands of one kind would take the whole run: some of each go on in turns. */
const writesPerAct = 25;

async function harm(): Promise<void> {
  while (runs) {
    const { name, writes } = tenant.next();
    await writeAll({ name, writes: writes.slice(0, writesPerAct) }, 1000 / target.writesPerSecond);
  }
}

/** To the end, or as far as it comes until it is told to stop. */
async function writeAll({ writes }: HostileAct, pauseMs: number): Promise<void> {
  for (const one of writes) {
    if (!runs && pauseMs > 0) return;
    const bytes = Buffer.byteLength(JSON.stringify(one.body ?? {}));
    counted = { writes: counted.writes + 1, bytes: counted.bytes + bytes };
    await tryToWrite(client, one);
    if (pauseMs > 0) await environment.timers.sleep(pauseMs);
  }
}
