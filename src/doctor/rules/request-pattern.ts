// One client with most of the refused requests at a proxy: a scan, an attack, or a broken client. It does
// not delay endpoint changes; it is said because people suspect it.

import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText } from "../evidence/sign-log.ts";

const requestsMin = 1_000;
const share = 0.8;

export const requestPattern: Cause = {
  name: "request-pattern",
  summary:
    "One client causes most of the refused requests (status 400 to 499) at the proxy. It may be a scan " +
    "or an attack. It does not delay endpoint changes.",
  affected: "It does not depend on the version.",
  shownBy: ["access log"],
  hop: undefined,
  explains: [],

  signs(evidence) {
    const top = topClient(evidence);
    if (top === undefined) return [];
    const { total, place } = evidence.requests.clientErrors;
    const text = `${top.count} of ${total} refused requests are of the client ${top.client}`;
    const source = place === undefined ? "" : placeText(place);
    return [{ weight: "proof", source: "logs", lines: [{ text, source }] }];
  },

  conclude(evidence) {
    const client = topClient(evidence)?.client ?? "";
    return {
      severity: "info",
      cause: `Most refused requests at the proxy are of one client, ${client}; it may be a scan or an attack.`,
      fix: {
        component: "the proxy",
        change: 'nginx.ingress.kubernetes.io/limit-rps: "10"   # or block the address at the edge',
        reason:
          "It explains load and 4xx answers. It does not explain endpoints that join or leave late.",
      },
    };
  },
};

function topClient({ requests }: Evidence): { client: string; count: number } | undefined {
  const { total, byClient } = requests.clientErrors;
  const [client, count] = [...byClient].sort(([, a], [, b]) => b - a)[0] ?? [];
  if (client === undefined || count === undefined) return undefined;
  return total >= requestsMin && count >= share * total ? { client, count } : undefined;
}
