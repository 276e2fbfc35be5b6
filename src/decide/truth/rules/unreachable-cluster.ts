// Rule 8, unreachable cluster: when a cluster has been silent for too long, people want different
// things of its endpoints, so each service may say: keep them, drop them, or distrust them, which
// leaves them behind those of all other clusters.
import type { Judged } from "../judged.ts";
import type { UnreachablePolicy } from "../truth-policy.ts";

const name = "unreachable cluster";

/** Behind every priority that a cluster which answers can have. */
export const distrustedPriority = 3;

export interface UnreachableSettings {
  readonly unreachable: UnreachablePolicy;
  readonly unreachableAfterMs: number;
}

/** The endpoints of one service in a cluster that is unreachable. */
export function unreachableCluster(
  judged: readonly Judged[],
  { unreachable, unreachableAfterMs }: UnreachableSettings,
): readonly Judged[] {
  const silent = `its cluster has not answered for ${Math.round(unreachableAfterMs / 1_000)} s`;
  switch (unreachable) {
    case "keep":
      return judged;
    case "drop":
      return judged.map((one) => dropped(one, silent));
    case "distrust":
      return judged.map((one) => distrusted(one, silent));
  }
}

function dropped(one: Judged, silent: string): Judged {
  const { endpoint } = one;
  if (endpoint.state === "out") return one;
  const reason = `${silent}, so its endpoints are dropped; before that, ${endpoint.reason}`;
  return { ...one, doubt: undefined, endpoint: { ...endpoint, state: "out", rule: name, reason } };
}

function distrusted(one: Judged, silent: string): Judged {
  const { endpoint } = one;
  if (endpoint.state === "out") return one;
  const reason = `${endpoint.reason}; ${silent}, so it is used only as a last resort`;
  const priority = distrustedPriority + (endpoint.priority ?? 0);
  return { ...one, endpoint: { ...endpoint, priority, reason } };
}
