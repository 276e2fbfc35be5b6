// The commands that repeat a request from inside the pod of a client: with its own token, through the
// address that it uses, or from its network where the image has no shell. The doctor only reads, so a
// person runs them.
import type { SignGroup } from "../evidence/sign-log.ts";

/** As the doctor saves the log of a pod: `logs/NAMESPACE/PROGRAM/POD.log`. */
const savedLog = /logs\/([^/]+)\/[^/]+\/([^/]+)\.log$/;

const token = "$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)";

/** `url` is what the client asks for; the names of the pod are those of its log, where they are known. */
export function inPodCheck({ samples }: SignGroup, url: string): string {
  const [, namespace = "NAMESPACE", pod = "POD"] =
    savedLog.exec(samples[0]?.place.source ?? "") ?? [];
  return [
    "# as the client, inside its pod:",
    `kubectl -n ${namespace} exec ${pod} -- sh -c 'curl -sk -m 70 -H "Authorization: Bearer ${token}" "${url}"'`,
    "# if its image has no shell, from its network:",
    `kubectl -n ${namespace} debug ${pod} -it --image=curlimages/curl -- curl -sk -m 70 "${url}"`,
  ].join("\n");
}
