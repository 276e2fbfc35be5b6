// Ingresses without an address in their status: the leader of the ingress controller does not write it.

import { counted } from "../../environment/counted.ts";
import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText } from "../evidence/sign-log.ts";

export const emptyIngressStatus: Cause = {
  name: "empty-ingress-status",
  summary:
    "Ingresses have no address in their status, because the leader of the ingress " +
    "controller does not write it. Traffic does not depend on it, external DNS does.",
  affected: "All versions, current ones included; it depends on the ingress controller.",
  shownBy: ["ingresses"],
  hop: undefined,
  explains: [],

  signs({ objects, signs }) {
    const empty = [...objects.ingresses.values()].filter(({ addresses }) => addresses === 0);
    const failed = signs.get("status-write-failed");
    const [first] = empty;
    return [
      ...(first === undefined
        ? []
        : [
            {
              weight: "proof" as const,
              source: "objects" as const,
              lines: [
                {
                  text: `${empty.length} of ${objects.ingresses.size} Ingresses have no address in their status`,
                  source: placeText(first.place),
                },
              ],
            },
          ]),
      ...(failed === undefined
        ? []
        : [
            {
              weight: "proof" as const,
              source: "logs" as const,
              lines: [failed.evidence(`${counted(failed.count, "write")} of a status failed`)],
            },
          ]),
    ];
  },

  conclude: (evidence) => ({
    severity: isRule(evidence) ? "warning" : "info",
    cause:
      "The ingress controller does not write the status of Ingresses. Traffic does not depend on it.",
    fix: {
      component: "ingress controller",
      change: "kubectl -n ingress-nginx get lease,configmap   # who holds the leader lock?",
      reason:
        "Only the leader writes the status, and it needs the permission to update ingresses/status.",
    },
    missing: ["kubectl get pods -A, and the lock of the ingress controller (-o yaml)"],
  }),
};

/**
 * One Ingress may be new, or of a class without a controller. A new leader needs a minute: until then the
 * status that the old one removed is empty.
 */
function isRule({ objects, signs }: Evidence): boolean {
  if ([...objects.observed.locks.values()].some(({ changes }) => changes > 0)) return false;
  const all = [...objects.ingresses.values()].filter(({ addresses }) => addresses !== undefined);
  const empty = all.filter(({ addresses }) => addresses === 0);
  return empty.length > 1 || signs.get("status-write-failed") !== undefined;
}
