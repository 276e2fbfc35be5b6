// Experiment: kubelets that report late, now and then later than the node controller is patient.
// How often is a node that lives called unknown, and for how many of its pauses?
import { leaseKind } from "../../../src/kube/kinds/lease.ts";
import { nodeKind } from "../../../src/kube/kinds/node.ts";
import { follow, type Trial } from "./trial.ts";

export interface FlapFigures {
  /** Pauses between two heartbeats. */
  readonly heartbeats: number;
  readonly flaps: number;
  readonly flapsPerHeartbeat: number;
}

export async function measureFlaps(
  trial: Trial,
  { settleMs, windowMs }: { readonly settleMs: number; readonly windowMs: number },
): Promise<FlapFigures> {
  const { timers } = trial;
  let heartbeats = 0;
  let flaps = 0;
  let isCounting = false;
  const leases = await follow(trial, leaseKind, "kube-node-lease", ({ type }) => {
    if (isCounting && type === "updated") heartbeats += 1;
  });
  const nodes = await follow(trial, nodeKind, undefined, (change) => {
    if (!isCounting || change.type !== "updated") return;
    const [before, after] = [change.previous.ready?.status, change.object.ready?.status];
    if (before === "True" && after === "Unknown") flaps += 1;
  });
  await timers.sleep(settleMs);
  isCounting = true;
  await timers.sleep(windowMs);
  isCounting = false;
  await Promise.all([leases.stop(), nodes.stop()]);
  return { heartbeats, flaps, flapsPerHeartbeat: flaps / heartbeats };
}
