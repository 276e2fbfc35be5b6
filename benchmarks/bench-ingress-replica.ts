// One Lockstep replica in a process of its own, as `lockstep ingress` runs it, so that its cost can
// be measured. It reports when each change is routed, on the clock that all processes share.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { keepPausesShort } from "../src/environment/node/node-heap.ts";
import type { RoutedEntry } from "../src/ingress/routed-journal.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import type { BenchClusterAddress } from "./bench-cluster.ts";
import { ingressClass } from "./ingress-objects.ts";
import { sharedClockOffsetMs } from "./shared-clock.ts";

export interface BenchReplicaOptions {
  readonly cluster: BenchClusterAddress;
  readonly port: number;
  readonly prefix: string;
  readonly workers: number;
  /** In the status of objects, which it writes then. */
  readonly publishAddress?: string | undefined;
}

export type ReplicaMessage =
  | { readonly kind: "serves" }
  | { readonly kind: "stopped" }
  | { readonly kind: "usage"; readonly usage: ReplicaUsage }
  | { readonly kind: "routed"; readonly routed: readonly RoutedChange[] };

export interface RoutedChange {
  readonly address: string;
  readonly direction: "join" | "leave";
  /** On the shared clock. */
  readonly atMs: number;
}

export interface ReplicaUsage {
  readonly cpuMicroseconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
}

const host = "127.0.0.1";
const readyPollMs = 10;

const unreported: RoutedChange[] = [];

keepPausesShort();
const { IngressReplica } = await import("../src/ingress/ingress-replica.ts");
const environment = nodeEnvironment({ log: { level: "warn" } });
const options: BenchReplicaOptions = JSON.parse(process.argv[2] ?? "{}");
const access = fixedAccess({
  name: "bench",
  server: options.cluster.url,
  token: options.cluster.token,
});
const replica = new IngressReplica({
  environment,
  clusters: [access],
  access,
  className: ingressClass,
  policy: { followSlices: false },
  listen: [{ address: host, port: options.port }],
  prefix: options.prefix,
  workers: options.workers,
  status: { host, port: 0 },
  ...(options.publishAddress !== undefined && {
    leadership: {
      publish: {
        addresses: [{ ip: options.publishAddress, hostname: "" }],
        lease: { namespace: "default", name: "lockstep-bench" },
        identity: "bench",
        podNamespace: undefined,
        deposeGhosts: false,
      },
      watchedLocks: [],
    },
  }),
  onRouted: (entry) => report(changesOf(entry)),
});
process.once("disconnect", () => process.exit(0));
await replica.start();
while (replica.notReadyBecause !== undefined) await environment.timers.sleep(readyPollMs);
process.on("message", (order) => void obey(String(order)));
tell({ kind: "serves" });

async function obey(order: string): Promise<void> {
  if (order === "stop") {
    await replica.stop({ keepNginx: false });
    tell({ kind: "stopped" });
    return;
  }
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const usage = { cpuMicroseconds: user + system, residentBytes: rss, heapBytes: heapUsed };
  tell({ kind: "usage", usage });
}

/** A load routes thousands at once, and a message for each takes longer than the load itself. */
function report(changes: readonly RoutedChange[]): void {
  if (unreported.length === 0) {
    setImmediate(() => tell({ kind: "routed", routed: unreported.splice(0) }));
  }
  unreported.push(...changes);
}

function changesOf({ joined, left, routedAtMs }: RoutedEntry): readonly RoutedChange[] {
  const atMs = routedAtMs + sharedClockOffsetMs;
  const change = (direction: "join" | "leave") => (endpoint: { readonly address: string }) => ({
    address: endpoint.address,
    direction,
    atMs,
  });
  return [...joined.map(change("join")), ...left.map(change("leave"))];
}

function tell(message: ReplicaMessage): void {
  process.send?.(message);
}
