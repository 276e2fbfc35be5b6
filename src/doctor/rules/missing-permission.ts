// A component may not do what it has to do. Without list and watch it never sees a change.

import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const missingPermission = logCause({
  name: "missing-permission",
  summary:
    "The API server refuses requests that a component needs. Without list and watch it " +
    "never sees a change.",
  hop: undefined,
  explains: ["empty-ingress-status", "broken-watches", "leader-changes", "no-endpoints"],
  sign: "forbidden",
  linesMin: 1,
  text: ({ count, samples }) =>
    `${counted(count, "request")} refused: ${samples[0]?.subject ?? ""} cannot ${samples[0]?.detail ?? ""}`,
  conclude(group) {
    const { subject = "", detail = "" } = group.samples[0] ?? {};
    const component = subject === "" ? ([...group.programs.keys()][0] ?? "A component") : subject;
    const verb = /^(\w+)/.exec(detail)?.[1] ?? "get";
    // `resource "leases" in API group "…"`, and `endpointslices.v1.discovery.k8s.io`.
    const named = /^\w+ ([a-z]+)(?:\.v\d\w*)?(?:\.([a-z0-9.-]+))?/.exec(detail);
    const resource = /resource "([^"]+)"/.exec(detail)?.[1] ?? named?.[1] ?? "";
    const apiGroup = /API group "([^"]*)"/.exec(detail)?.[1] ?? named?.[2] ?? "";
    return {
      severity: "warning",
      cause: `${component} is not allowed to ${verb} ${resource}.`,
      fix: {
        component,
        change: [
          "# rule for its Role or ClusterRole",
          `- apiGroups: ["${apiGroup}"]`,
          `  resources: ["${resource}"]`,
          `  verbs: ["${verb}"]`,
        ].join("\n"),
        reason:
          "The API server refused the request; a restart of the component does not change this. " +
          "Informers need get, list and watch together.",
      },
    };
  },
});
