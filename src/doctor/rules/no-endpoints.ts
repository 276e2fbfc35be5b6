// A service without a usable endpoint: its selector or port matches no ready pod, or the news of its
// pods has not arrived.

import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const noEndpoints = logCause({
  name: "no-endpoints",
  hop: "published",
  sign: "no-active-endpoint",
  linesMin: 1,
  text: (group) =>
    `${counted(group.count, "time")} a proxy found no endpoint for ` +
    (group.subjects.size === 1 ? group.topSubjects(1)[0] : `${group.subjects.size} services`),
  conclude(group) {
    const [service = "NAMESPACE/NAME"] = group.topSubjects(1);
    const [namespace = "default", name = service] = service.includes("/")
      ? service.split("/")
      : ["default", service];
    return {
      severity: "warning",
      cause: `The ingress has no endpoint for service ${service}.`,
      fix: {
        component: service,
        change: [
          `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${name}`,
          `kubectl -n ${namespace} get service ${name} -o jsonpath='{.spec.selector}'`,
        ].join("\n"),
        reason:
          "If the slices are empty, compare the selector and the target port with the labels and ports of " +
          "the pods. If they are not empty, the ingress has old state: look at its watches.",
      },
    };
  },
});
