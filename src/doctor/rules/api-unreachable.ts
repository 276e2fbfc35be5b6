// Clients that cannot connect to an API server at all.

import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const apiUnreachable = logCause({
  name: "api-unreachable",
  hop: undefined,
  explains: ["broken-watches", "leader-changes", "empty-ingress-status"],
  sign: "api-unreachable",
  linesMin: 3,
  text: ({ count, samples }) =>
    `${counted(count, "connection")} failed: ${samples[0]?.subject ?? ""} ${samples[0]?.detail ?? ""}`,
  conclude(group) {
    const [address = ""] = group.topSubjects(1);
    return {
      severity: "warning",
      cause: `${[...group.programs.keys()][0] ?? "A client"} cannot connect to ${address}, so it works with old state.`,
      fix: {
        component: address,
        change: `curl -k https://${address}/livez   # from the machine or pod of the client`,
        reason:
          "Refused: no process listens there. Timeout or no route: the network, a firewall or kube-proxy. " +
          "The service address works only while kube-proxy has an endpoint for it.",
      },
    };
  },
});
