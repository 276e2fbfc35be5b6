// Which addresses the stock status names (runningAddresses in internal/ingress/status/status.go):
// one that was configured, those of a Service, or those of the nodes where pods with its own labels
// run. Requested at every sync.
import { loadBalancerAddress } from "../../decide/status/load-balancer-address.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { listAt, optionalString, recordAt, stringsAt } from "../../kube/kinds/fields.ts";
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import { collectionPath, objectPath } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { nodeKind } from "../../kube/kinds/node.ts";
import { type Pod, podKind } from "../../kube/kinds/pod.ts";
import { serviceKind } from "../../kube/kinds/service.ts";
import type { StockPod } from "./stock-pod.ts";
import type { StockRelease } from "./stock-release.ts";

/** Where the addresses come from. */
export type StockPublishing =
  /** `--publish-status-address`. */
  | { readonly from: "address"; readonly address: string }
  /** `--publish-service`. */
  | { readonly from: "service"; readonly namespace: string; readonly name: string }
  /** `internal`: `--report-node-internal-ip-address`. */
  | { readonly from: "nodes"; readonly addresses: "internal" | "external" };

export interface AddressesQuestion {
  readonly pod: StockPod;
  readonly release: Pick<StockRelease, "counts" | "takes">;
  readonly publishing: StockPublishing;
}

const requestDeadlineMs = 30_000;

export async function runningAddresses(
  client: KubeClient,
  { pod, release, publishing }: AddressesQuestion,
): Promise<readonly LoadBalancerAddress[]> {
  switch (publishing.from) {
    case "address":
      return [loadBalancerAddress(publishing.address)];
    case "service":
      return await serviceAddresses(client, publishing);
    case "nodes": {
      const pods = (await runningPods(client, pod)).filter(
        ({ phase, ready }) =>
          phase === "Running" && (release.counts === "running pods" || ready === "True"),
      );
      const found = new Set<string>();
      for (const { nodeName } of pods) {
        for (const address of await nodeAddresses(client, nodeName, { release, publishing })) {
          found.add(address);
        }
      }
      return [...found].map(loadBalancerAddress);
    }
  }
}

/** Every pod with exactly these labels among its own. */
export async function runningPods(
  client: KubeClient,
  { namespace, labels }: StockPod,
): Promise<readonly Pod[]> {
  const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const path =
    `${collectionPath(podKind, namespace)}?labelSelector=` +
    encodeURIComponent(selector.sort().join(","));
  const list = objectRecord(await read(client, "list", path));
  return listAt(list, "items").map((item) => podKind.project(item));
}

/** A node that cannot be read counts as one without address, and is only logged by the real one. */
async function nodeAddresses(
  client: KubeClient,
  name: string,
  {
    release,
    publishing,
  }: {
    readonly release: Pick<StockRelease, "takes">;
    readonly publishing: { readonly addresses: "internal" | "external" };
  },
): Promise<readonly string[]> {
  const path = objectPath(nodeKind, { namespace: "", name });
  const node = await read(client, "get", path).catch((error: unknown) => {
    if (error instanceof StatusError && error.code === 404) return {};
    throw error;
  });
  const listed = listAt(recordAt(objectRecord(node), "status"), "addresses").map(objectRecord);
  const ofType = (type: string): readonly string[] =>
    listed
      .filter((entry) => entry["type"] === type)
      .map((entry) => optionalString(entry, "address") ?? "")
      .filter((address) => address !== "");
  const internal = publishing.addresses === "internal" ? ofType("InternalIP") : [];
  const external = ofType("ExternalIP");
  if (release.takes === "first address") return [internal[0] ?? external[0] ?? ""];
  return internal.length > 0 ? internal : external.length > 0 ? external : ofType("InternalIP");
}

/** The load balancer's addresses and those that were given by hand. */
async function serviceAddresses(
  client: KubeClient,
  service: { readonly namespace: string; readonly name: string },
): Promise<readonly LoadBalancerAddress[]> {
  const object = objectRecord(await read(client, "get", objectPath(serviceKind, service)));
  const spec = recordAt(object, "spec");
  if (spec["type"] === "ExternalName") {
    return [loadBalancerAddress(optionalString(spec, "externalName") ?? "")];
  }
  const balancer = recordAt(recordAt(object, "status"), "loadBalancer");
  const ingress = listAt(balancer, "ingress").map(objectRecord);
  const names = ingress.map((one) => optionalString(one, "ip") || optionalString(one, "hostname"));
  return [...names, ...stringsAt(spec, "externalIPs")].map((name) =>
    loadBalancerAddress(name ?? ""),
  );
}

async function read(client: KubeClient, verb: "get" | "list", path: string): Promise<unknown> {
  const limits = { deadlineMs: requestDeadlineMs };
  return parseJson(await client.request({ verb, method: "GET", path, ...limits }));
}
