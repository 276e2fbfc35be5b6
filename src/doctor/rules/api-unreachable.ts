// Clients that cannot connect to an API server at all.

import { counted } from "../../environment/counted.ts";
import { logCause } from "../cause.ts";
import { inPodCheck } from "../report/in-pod-check.ts";

/** They run on the machine, or use its network. */
const onMachines = ["kubelet", "kube-proxy", "kube-controller-manager", "kube-scheduler"];

/** A connection without an answer waits for 30 s; one that is refused is tried again at once. */
const timeoutsMin = 2;
const timeouts = ["i/o timeout", "connection timed out", "TLS handshake timeout"];

export const apiUnreachable = logCause({
  name: "api-unreachable",
  summary:
    "A client gets no connection or no answer from the API server. It keeps working with " +
    "the state that it had.",
  affected: "All versions, current ones included.",
  shownBy: ["client log"],
  hop: undefined,
  explains: ["broken-watches", "leader-changes", "empty-ingress-status"],
  sign: "api-unreachable",
  linesMin: 3,
  isProved: ({ details }) =>
    timeouts.reduce((sum, detail) => sum + (details.get(detail) ?? 0), 0) >= timeoutsMin,
  text: ({ count, samples }) =>
    `${counted(count, "connection")} failed: ${samples[0]?.subject ?? ""} ${withoutCut(samples[0]?.detail ?? "")}`,
  conclude(group) {
    const [address = ""] = group.topSubjects(1);
    return {
      severity: "warning",
      cause: `${[...group.programs.keys()][0] ?? "A client"} gets no connection to ${address} or no answer, so it works with old state.`,
      fix: {
        component: address,
        change: onMachines.some((program) => group.programs.has(program))
          ? `curl -sk -m 5 https://${address}/livez   # on the machine of the client`
          : `${inPodCheck(group, `https://${address}/livez`)}\nkubectl get endpoints kubernetes   # the addresses behind the service address`,
        reason:
          "Refused: no process listens there. Timeout or no route: the network, a firewall or kube-proxy. " +
          "The service address works only while kube-proxy has an endpoint for it.",
      },
    };
  },
});

/** A line that a terminal has cut says no reason. */
function withoutCut(detail: string): string {
  return /[>…]$/.test(detail) ? "(the line is cut before the reason)" : detail;
}
