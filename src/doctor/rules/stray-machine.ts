// A machine that is no node of the cluster and whose kubelet still talks to the API server. Its
// containers run on, renew leader locks and hold addresses, and no list of pods shows them.

import { counted } from "../../environment/counted.ts";
import type { Cause } from "../cause.ts";
import type { LockWrites } from "../evidence/audit-trail.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText } from "../evidence/sign-log.ts";

/** A node that was removed a moment ago writes once or twice. */
const writesMin = 3;

export const strayMachine: Cause = {
  name: "stray-machine",
  summary:
    "A kubelet of a machine that is no node of the cluster still writes to the API server. Its " +
    "containers run on and are in no list of pods.",
  affected: "All versions, current ones included.",
  shownBy: ["audit log"],
  hop: undefined,
  explains: [],

  signs(evidence) {
    const [stray] = strays(evidence);
    if (stray === undefined) return [];
    const [address = ""] = stray.addresses.keys();
    const text = `${counted(sum(stray), "write")} by the kubelet of ${stray.lock} from ${address}, which is no node`;
    const lines = [{ text, source: placeText(stray.place) }];
    return [{ weight: "proof", source: "logs", lines }];
  },

  conclude(evidence) {
    const [stray] = strays(evidence);
    const [address = "MACHINE"] = stray?.addresses.keys() ?? [];
    return {
      severity: "warning",
      cause: `The machine ${stray?.lock ?? ""} at ${address} is no node of the cluster, and its kubelet still runs.`,
      fix: {
        component: `machine ${address}`,
        change: `ssh ${address} 'systemctl disable --now kubelet && crictl stop $(crictl ps -q)'`,
        reason:
          "Deleting a Node does not stop its machine. Stop the kubelet first, or it starts the containers " +
          "again. Then revoke its certificate.",
      },
    };
  },
};

function strays({ objects }: Evidence): readonly LockWrites[] {
  if (objects.nodes.size === 0) return [];
  return [...objects.audit.nodes.values()].filter(
    (one) => !objects.nodes.has(one.lock) && sum(one) >= writesMin,
  );
}

function sum({ addresses }: LockWrites): number {
  return [...addresses.values()].reduce((total, count) => total + count, 0);
}
