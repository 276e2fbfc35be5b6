// The hostile tenant in a process of its own: between `begin` and `end` it writes the largest objects
// that the API server takes, one after the other, at a bounded rate; then it removes all of them. On
// request it writes the same bytes as ConfigMaps, which Lockstep does not read: the difference between
// the two is the share of Lockstep.
import { webcrypto } from "node:crypto";
import { makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { type ApiWrite, tryToWrite, write } from "../tests/tenants/api-write.ts";
import { HostileTenant } from "../tests/tenants/hostile-tenant.ts";
import type { BenchClusterAddress } from "./bench-cluster.ts";

export interface HostileTarget {
  readonly cluster: BenchClusterAddress;
  readonly namespace: string;
  readonly writesPerSecond: number;
}

export interface HostileBegin {
  readonly order: "begin";
  /** The same seed makes the same writes. */
  readonly seed: number;
  /** `unread`: as ConfigMaps of the same size. */
  readonly as: "written" | "unread";
}

export type HostileOrder = HostileBegin | { readonly order: "end" };

/** The answer to `end`, when everything is removed. */
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
const keyPair = await authority.issueServer(["hostile.example"]);

let runs = false;
let counted: HostileResult = { writes: 0, bytes: 0 };
let running: Promise<void> = Promise.resolve();

process.once("disconnect", () => process.exit(0));
process.on("message", (order) => void obey(order as HostileOrder));
await write(client, {
  method: "POST",
  path: "/api/v1/namespaces",
  body: { metadata: { name: target.namespace } },
});
process.send?.({ done: true });

async function obey(order: HostileOrder): Promise<void> {
  if (order.order === "begin") {
    runs = true;
    counted = { writes: 0, bytes: 0 };
    running = harm(order);
    process.send?.({ done: true });
    return;
  }
  runs = false;
  await running;
  process.send?.(counted);
}

/** Thousands of one kind would take the whole run: some of each go on in turns. */
const writesPerAct = 25;

async function harm({ seed, as }: HostileBegin): Promise<void> {
  const tenant = new HostileTenant({
    namespace: target.namespace,
    random: new SeededRandom({ seed, name: "hostile" }),
    victims: () => [],
    largestShare: 1,
    keyPair,
  });
  const form = as === "written" ? (one: ApiWrite) => one : unread;
  while (runs) {
    for (const one of tenant.next().writes.slice(0, writesPerAct)) {
      if (!runs) break;
      await writeInTime(form(one));
    }
  }
  for (const one of tenant.removeAll().writes) await tryToWrite(client, form(one));
}

async function writeInTime(one: ApiWrite): Promise<void> {
  const startedAt = performance.now();
  const bytes = bytesOf(one.body ?? {});
  counted = { writes: counted.writes + 1, bytes: counted.bytes + bytes };
  await tryToWrite(client, one);
  const dueMs = 1000 / target.writesPerSecond;
  await environment.timers.sleep(Math.max(0, dueMs - (performance.now() - startedAt)));
}

/** The same write of a ConfigMap with as many bytes. */
function unread({ method, path, body }: ApiWrite): ApiWrite {
  const [, kind = "", objectName] = /\/namespaces\/[^/]+\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
  const collection = `/api/v1/namespaces/${target.namespace}/configmaps`;
  if (method !== "POST") {
    const changed = body === undefined ? {} : { body };
    return { method, path: `${collection}/${kind}-${objectName ?? ""}`, ...changed };
  }
  const { metadata } = body as { readonly metadata: { readonly name: string } };
  const filled = (bytes: number) => ({
    metadata: { name: `${kind}-${metadata.name}` },
    data: { content: "x".repeat(bytes) },
  });
  const missing = bytesOf(body) - bytesOf(filled(0));
  return { method, path: collection, body: filled(Math.max(0, missing)) };
}

function bytesOf(body: object | undefined): number {
  return Buffer.byteLength(JSON.stringify(body));
}
