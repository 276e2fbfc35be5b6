// A component may not do what it has to do. Without list and watch it never sees a change.

import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const missingPermission = logCause({
  name: "missing-permission",
  hop: undefined,
  explains: ["empty-ingress-status", "broken-watches", "no-endpoints"],
  sign: "forbidden",
  linesMin: 1,
  text: ({ count, samples }) =>
    `${counted(count, "request")} refused: ${samples[0]?.subject ?? ""} cannot ${samples[0]?.detail ?? ""}`,
  conclude(group) {
    const { subject = "", detail = "" } = group.samples[0] ?? {};
    const verb = /^(\w+)/.exec(detail)?.[1] ?? "get";
    const resource = /resource "([^"]+)"/.exec(detail)?.[1] ?? /^\w+ (\S+)/.exec(detail)?.[1] ?? "";
    const apiGroup = /API group "([^"]*)"/.exec(detail)?.[1] ?? "";
    return {
      severity: "warning",
      cause: `${subject} is not allowed to ${verb} ${resource}.`,
      fix: {
        component: subject,
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
