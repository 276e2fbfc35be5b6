// A service without a usable endpoint: its selector or port matches no ready pod, or the news of its
// pods has not arrived.

import { counted } from "../../environment/counted.ts";
import { type Cause, logCause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";

const withoutEndpoint = logCause({
  name: "no-endpoints",
  summary:
    "A proxy has no endpoint for a service: no ready pod matches, or the change has not " +
    "arrived yet.",
  affected: "All versions, current ones included.",
  shownBy: ["proxy log"],
  hop: "published",
  sign: "no-active-endpoint",
  linesMin: 1,
  text: (group) => {
    const [service = ""] = group.topSubjects(1);
    const of = group.subjects.size > 1 ? ` for ${group.subjects.size} services` : forText(service);
    return `${counted(group.count, "time")} a proxy found no endpoint${of}`;
  },
  conclude(group) {
    const [subject = ""] = group.topSubjects(1);
    const { namespace, name } = serviceOf(subject);
    return {
      severity: "warning",
      cause: `The proxy has no endpoint${subject === "" ? " for a service" : forText(subject)}.`,
      fix: {
        component: name === "SERVICE" ? "the service behind the proxy" : `service ${name}`,
        change: [
          `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${name}`,
          `kubectl -n ${namespace} get service ${name} -o jsonpath='{.spec.selector}'`,
        ].join("\n"),
        reason:
          "If the slices are empty, compare the selector and the target port with the labels and ports of " +
          "the pods. If they are not empty, the proxy has old state: look at its watches.",
      },
      missing: ["kubectl get endpointslices,pods -o wide, in the namespace of the service"],
    };
  },
});

function forText(service: string): string {
  return service === "" ? "" : ` for service ${service}`;
}

/** `shop/web`, Envoy's `web.shop.svc.cluster.local`, HAProxy's `shop_web_http`; others say too little. */
function serviceOf(subject: string): { readonly namespace: string; readonly name: string } {
  const [, name, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc(?:\..*)?)?$/.exec(subject) ?? [];
  if (name !== undefined && namespace !== undefined) return { namespace, name };
  const parts = /^([a-z0-9-]+)[/_]([a-z0-9.-]+)(?:_[\w-]+)?$/.exec(subject) ?? [];
  return { namespace: parts[1] ?? "NAMESPACE", name: parts[2] ?? "SERVICE" };
}

/** HAProxy has no server left because each one refused: that is what to look at. */
function areRefused({ signs }: Evidence): boolean {
  const refused = [...(signs.get("upstream-refused")?.subjects.keys() ?? [])];
  const backends = [...(signs.get("no-active-endpoint")?.subjects.keys() ?? [])];
  const isRefused = (backend: string) => refused.some((one) => one.startsWith(`${backend}/`));
  return backends.length > 0 && backends.every(isRefused);
}

export const noEndpoints: Cause = {
  ...withoutEndpoint,
  signs: (evidence) => (areRefused(evidence) ? [] : withoutEndpoint.signs(evidence)),
};
