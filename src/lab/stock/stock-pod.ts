// The pod that a stock replica runs in, as the replica itself reads it once at its start
// (GetPodDetails, later GetIngressPod, in internal/k8s/main.go). It never receives later changes.
import { type KubeClient, parseJson } from "../../kube/client/client.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import { objectPath } from "../../kube/kinds/kind.ts";
import { podKind } from "../../kube/kinds/pod.ts";

export interface StockPod {
  readonly namespace: string;
  readonly name: string;
  /** All of them, the hash of its revision included: by these it looks for its peers. */
  readonly labels: StringMap;
}

const requestDeadlineMs = 30_000;

/** Throws as the client does; the real process ends then. */
export async function readStockPod(
  client: KubeClient,
  pod: { readonly namespace: string; readonly name: string },
): Promise<StockPod> {
  const path = objectPath(podKind, pod);
  const limits = { deadlineMs: requestDeadlineMs };
  const answer = await client.request({ verb: "get", method: "GET", path, ...limits });
  const { namespace, name, labels } = podKind.project(parseJson(answer)).metadata;
  return { namespace, name, labels };
}
