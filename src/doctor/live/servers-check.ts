// Asks each API server of a cluster at its own address for its version, and compares its cache with a
// quorum read. The compared object is a heartbeat, which changes every few seconds: a cache that still has
// an older one after some seconds is behind. Only lists are requested, which the doctor may do anyway.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { serverAddresses } from "../../kube/client/direct-client.ts";
import { endpointsKind } from "../../kube/kinds/endpoints.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { hasReached } from "../../kube/reflector/resource-version.ts";
import { type ApiServerCheck, apiServerKind } from "../evidence/api-servers.ts";
import type { Gathered } from "./gathered.ts";
import { recordIn, recordsIn, textIn } from "./live-kinds.ts";
import { LiveReader } from "./live-reader.ts";

/** A client for the own address of a server; undefined where credentials are not sent there. */
export type ServerAt = (address: string) => KubeClient | undefined;

export interface ServersCheckOptions extends Pick<Environment, "timers"> {
  readonly reader: LiveReader;
  readonly gathered: Gathered;
  readonly serverAt: ServerAt;
  readonly signal: AbortSignal;
}

const serversMax = 5;

/** A cache is behind its own server's writes for milliseconds. */
const lookEveryMs = 3_000;
const looks = 4;

/** The addresses, then for each server its version, one quorum read and the looks at its cache. */
export const serverRequestsMax = 2 + serversMax * (2 + looks);

const kubernetesPath = "/api/v1/namespaces/default/endpoints/kubernetes";

/** Nodes have no Leases before 1.14; their status has the heartbeat then. */
interface Beat {
  readonly object: string;
  readonly path: string;
}

/** Clusters with one server are passed over. */
export async function checkServers(options: ServersCheckOptions): Promise<void> {
  const { reader, gathered, serverAt } = options;
  const endpoints = await reader.object("endpoints", kubernetesPath);
  if (endpoints === undefined) return;
  const addresses = serverAddresses(endpointsKind.project(endpoints).subsets).slice(0, serversMax);
  if (addresses.length < 2) return;
  const beat = await beatOf(reader, [...gathered.facts.objects.nodes.keys()]);
  for (const address of addresses) {
    const client = serverAt(address);
    if (client === undefined) {
      reader.noteProblem(
        "API servers, one by one: credentials are sent only to the address of the kubeconfig.",
      );
      return;
    }
    const check = await checkServer(options, { address, client, beat });
    await gathered.object("servers.json", { ...check });
  }
}

interface CheckedServer {
  readonly address: string;
  readonly client: KubeClient;
  readonly beat: Beat | undefined;
}

async function checkServer(
  { reader, signal, timers }: ServersCheckOptions,
  { address, client, beat }: CheckedServer,
): Promise<ApiServerCheck> {
  const own = new LiveReader({ client, signal });
  const check = { kind: apiServerKind, address } as const;
  try {
    const version = textIn((await own.object("version", "/version")) ?? {}, "gitVersion");
    if (version === "") return check;
    const stored = beat && (await newest(reader, beat.path));
    if (beat === undefined || stored === undefined) return { ...check, version };
    for (let look = 1; look <= looks; look += 1) {
      const cached = await newest(own, `${beat.path}&resourceVersion=0`);
      if (cached === undefined) return { ...check, version };
      const isCurrent = hasReached(cached.resourceVersion, stored.resourceVersion);
      const behindMs = stored.beatMs - cached.beatMs;
      const { object } = beat;
      // Versions that are no numbers, or no times: nothing is known.
      if (isCurrent || !(behindMs > 0)) return { ...check, version, object };
      if (look === looks) return { ...check, version, object, behindMs };
      await timers.sleep(lookEveryMs, signal);
    }
    return { ...check, version };
  } finally {
    const [why] = own.problems;
    if (why !== undefined) reader.noteProblem(`API server ${address}: ${why}`);
    reader.requests += own.requests;
  }
}

/** Of the first node that has one. */
async function beatOf(reader: LiveReader, [node]: readonly string[]): Promise<Beat | undefined> {
  if (node === undefined) return undefined;
  const selector = `fieldSelector=${encodeURIComponent(`metadata.name=${node}`)}`;
  const leases = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?${selector}`;
  const lease = { object: `lease kube-node-lease/${node}`, path: leases };
  if ((await newest(reader, leases)) !== undefined) return lease;
  return { object: `node ${node}`, path: `/api/v1/nodes?${selector}` };
}

/** The only object of a list; undefined when it cannot be read. */
async function newest(
  reader: LiveReader,
  path: string,
): Promise<{ readonly resourceVersion: string; readonly beatMs: number } | undefined> {
  const resource = path.includes("/leases") ? "leases" : "nodes";
  const list = await reader.object(resource, path);
  const [object] = recordsIn(list?.["items"]);
  if (object === undefined) return undefined;
  const resourceVersion = textIn(recordIn(object, "metadata"), "resourceVersion");
  return { resourceVersion, beatMs: Date.parse(beatIn(object)) };
}

function beatIn(object: RawRecord): string {
  const renewTime = textIn(recordIn(object, "spec"), "renewTime");
  if (renewTime !== "") return renewTime;
  const conditions = recordsIn(recordIn(object, "status")["conditions"]);
  const ready = conditions.find((one) => isRecord(one) && one["type"] === "Ready") ?? {};
  return textIn(ready, "lastHeartbeatTime");
}
