// The logs of pods as a real API server asks kubelets for them: over TLS, at the node's own address. The
// lab's kubelets leave that to the lab's API servers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { Listener, ServerExchange } from "../../../src/environment/network.ts";
import { parseJson } from "../../../src/kube/client/client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import type { RealCluster } from "./real-cluster.ts";

/** A server without DNS must not ask for a node by its name. */
export const askNodesByAddress = "--kubelet-preferred-address-types=InternalIP";

/** Where an API server asks unless a node names another port. */
const kubeletPort = 10_250;
const deadlineMs = 10_000;

/** Resolves when all nodes have registered, to a way to stop. */
export async function serveKubeletLogs(cluster: RealCluster): Promise<() => Promise<void>> {
  const { environment, plane, kubelets } = cluster;
  const file = (name: string) => readFileSync(join(plane.folder, "certificates-0", name), "utf8");
  // The server does not verify it.
  const tls = { cert: file("apiserver.crt"), key: file("apiserver.key") };
  const hosts = await vi.waitFor(
    async () => {
      const nodes = listAt(await read(cluster, "/api/v1/nodes"), "items").filter(isRecord);
      if (nodes.length < kubelets.length) throw new Error("a node has not registered");
      return nodes.map(addressOf);
    },
    { timeout: 60_000, interval: 100 },
  );
  const listeners: Listener[] = [];
  for (const host of hosts) {
    const options = { host, port: kubeletPort, tls };
    listeners.push(
      await environment.network.listen(options, (exchange) => answer(exchange, cluster)),
    );
  }
  return async () => {
    await Promise.all(listeners.map((listener) => listener.close()));
  };
}

/** `/containerLogs/NAMESPACE/POD/CONTAINER?sinceTime=…`, the only one that is asked for. */
async function answer(exchange: ServerExchange, cluster: RealCluster): Promise<void> {
  const { target, closed } = exchange.request;
  const { pathname, searchParams } = new URL(target, "https://node");
  const [kind, namespace = "", name = "", container = ""] = pathname.split("/").slice(1);
  if (kind !== "containerLogs") {
    exchange.respond(404).end();
    return;
  }
  const pod = await read(cluster, `/api/v1/namespaces/${namespace}/pods/${name}`);
  const since = Date.parse(searchParams.get("sinceTime") ?? "");
  const ageMs = cluster.environment.clock.wallMs() - since;
  const writer = exchange.respond(200, { "content-type": "text/plain" });
  const asked = {
    namespace,
    name,
    container,
    uid: String(recordAt(pod, "metadata")["uid"]),
    follow: searchParams.get("follow") === "true",
    previous: false,
    timestamps: false,
    tailLines: undefined,
    sinceSeconds: Number.isNaN(ageMs) ? undefined : ageMs / 1_000,
  };
  await cluster.logs.write(asked, writer, closed);
  writer.end();
}

async function read({ client }: RealCluster, path: string): Promise<RawRecord> {
  const object = parseJson(await client.request({ verb: "get", method: "GET", path, deadlineMs }));
  return isRecord(object) ? object : {};
}

function addressOf(node: RawRecord): string {
  const addresses = listAt(recordAt(node, "status"), "addresses").filter(isRecord);
  return String(addresses.find(({ type }) => type === "InternalIP")?.["address"]);
}
