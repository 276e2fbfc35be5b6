// The waits of single requests for the client's rate limit, as the log of a controller manager shows
// them. The log is read through the API and parsed by the doctor, as an operator would do it.
import { evidenceOf } from "../../doctor/evidence/evidence.ts";
import type { SignGroup } from "../../doctor/evidence/sign-log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectPath } from "../../kube/kinds/kind.ts";
import { podKind } from "../../kube/kinds/pod.ts";
import { componentPodName } from "../controllers/component-pod.ts";
import { controllerManager, controlPlaneNode } from "../controllers/kube-controllers.ts";

const requestDeadlineMs = 30_000;

/** The longest of this time; undefined when no request waited long enough to be logged. */
export async function longestLoggedWaitMs(
  client: KubeClient,
  sinceMs: number,
): Promise<number | undefined> {
  return (await loggedWaits(client, sinceMs))?.longest?.ms;
}

/** All waits of this time; undefined when there is none. */
export async function loggedWaits(
  client: KubeClient,
  sinceMs: number,
): Promise<SignGroup | undefined> {
  const pod = componentPodName(controllerManager, controlPlaneNode);
  // A server refuses less than a second.
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
  const { signs } = evidenceOf({ logs: [{ component: controllerManager, source, lines }] });
  return signs.get("endpoints-throttled");
}
