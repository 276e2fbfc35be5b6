// What people on call find in the log of a throttled controller manager: the wait of single requests
// for the client's limit. It is read as anybody would, through the API, by the doctor's own parser.
import { type ThrottlingLog, throttlingLog } from "../../doctor/evidence/throttling-log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectPath } from "../../kube/kinds/kind.ts";
import { podKind } from "../../kube/kinds/pod.ts";
import { componentPodName } from "../controllers/component-pod.ts";
import { controllerManager, controlPlaneNode } from "../controllers/kube-controllers.ts";

const requestDeadlineMs = 30_000;

/** The longest in this time; undefined when no request had to wait for long enough. */
export async function longestLoggedWaitMs(
  client: KubeClient,
  sinceMs: number,
): Promise<number | undefined> {
  return (await loggedWaits(client, sinceMs))?.maxWaitMs;
}

/** All of this time; undefined when there is none. */
export async function loggedWaits(
  client: KubeClient,
  sinceMs: number,
): Promise<ThrottlingLog | undefined> {
  const pod = componentPodName(controllerManager, controlPlaneNode);
  // No server takes less than a second.
  const seconds = Math.max(1, Math.ceil(sinceMs / 1000));
  const path = `${objectPath(podKind, pod, "log")}?sinceSeconds=${seconds}`;
  const { body } = await client.request({
    verb: "get",
    method: "GET",
    path,
    deadlineMs: requestDeadlineMs,
  });
  const lines = body.toString("utf8").split("\n");
  const source = `${pod.namespace}/${pod.name}`;
  return throttlingLog({ component: controllerManager, source, lines });
}
