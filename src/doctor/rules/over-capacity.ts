// An Endpoints object that was cut at 1,000 addresses. Clients that read Endpoints instead of
// EndpointSlices send nothing to the pods that were left out.

import { counted } from "../../environment/counted.ts";
import type { Cause, Conclusion, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { EndpointsFacts } from "../evidence/objects.ts";
import { placeText } from "../evidence/sign-log.ts";

export const overCapacity: Cause = {
  name: "over-capacity",
  summary:
    "A service has more than 1,000 endpoints, and its Endpoints object was cut. Clients that read " +
    "Endpoints do not know the other pods; EndpointSlices have all of them.",
  affected:
    "Since 1.22, current versions included, for clients that read Endpoints instead of EndpointSlices.",
  shownBy: ["endpoints", "manager log"],
  hop: "published",
  explains: [],

  signs(evidence) {
    const cut = truncated(evidence);
    const [first] = cut;
    if (first === undefined) return [...tooLarge(evidence), ...full(evidence)];
    const text = `${counted(cut.length, "Endpoints object")} cut at 1,000 addresses (${first.key})`;
    const lines = [{ text, source: placeText(first.place) }];
    return [{ weight: "proof", source: "objects", lines }];
  },

  conclude(evidence) {
    const key = truncated(evidence)[0]?.key;
    if (key === undefined) return tooLarge(evidence).length > 0 ? ofTooLarge : ofFull;
    return {
      severity: "warning",
      cause: `The Endpoints of ${key} have more than 1,000 addresses and were cut, so some pods get no traffic.`,
      fix: {
        component: "clients that read Endpoints",
        change: "read discovery.k8s.io/v1 EndpointSlices instead of Endpoints",
        reason:
          "EndpointSlices have no such limit. A larger limit for Endpoints cannot be set; the only " +
          "other way is to split the service.",
      },
    };
  },
};

const refusal = "etcdserver: request is too large";

/** Before 1.22 nothing was cut, and an object of some thousand addresses is larger than etcd accepts. */
function tooLarge({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("endpoint-write-failed");
  if (group?.samples.some(({ subject }) => subject.includes(refusal)) !== true) return [];
  const text = `${counted(group.count, "write")} of endpoints failed: ${refusal}`;
  return [{ weight: "proof", source: "logs", lines: [group.evidence(text)] }];
}

const ofTooLarge: Conclusion = {
  severity: "critical",
  cause:
    "An Endpoints object is larger than etcd accepts, so no change of that service is published any more.",
  fix: {
    component: "the service, and kube-controller-manager",
    change:
      "split the service; then upgrade to 1.22 or newer, which cuts Endpoints at 1,000 addresses",
    reason:
      "etcd accepts 1.5 MB a request (--max-request-bytes). The proxies keep the last state that could be written. " +
      "EndpointSlices have at most 100 addresses each.",
  },
};

const addressesMax = 1_000;

/** Tables and descriptions show no annotations. */
function full({ objects }: Evidence): readonly Sign[] {
  const one = [...objects.endpoints.values()].find(
    ({ ready, overCapacity: mark }) => ready === addressesMax && mark === undefined,
  );
  if (one === undefined) return [];
  const text = `the Endpoints ${one.key} have exactly ${counted(addressesMax, "address", "addresses")}, as they do after a cut`;
  return [
    { weight: "support", source: "objects", lines: [{ text, source: placeText(one.place) }] },
  ];
}

const ofFull: Conclusion = {
  severity: "warning",
  cause: "An Endpoints object has exactly as many addresses as one that was cut.",
  fix: {
    component: "clients that read Endpoints",
    change: "read discovery.k8s.io/v1 EndpointSlices instead of Endpoints",
    reason: "EndpointSlices have no such limit.",
  },
  missing: [
    "kubectl get endpoints NAME -o yaml | grep over-capacity   # truncated: the other pods are left out",
  ],
};

/** Since 1.22. 1.21 wrote `warning` and cut nothing. */
function truncated({ objects }: Evidence): readonly EndpointsFacts[] {
  return [...objects.endpoints.values()].filter(({ overCapacity: mark }) => mark === "truncated");
}
