// Experiment: a process that is no controller manager holds the managers' lock and renews it. Does
// a manager ever lead, and how long after the last renewal does it?
import { elapsedMs, type MonotonicMs, toMicroTime } from "../../../src/environment/clock.ts";
import { leaseKind } from "../../../src/kube/kinds/lease.ts";
import { follow, send, type Trial, until } from "./trial.ts";

export interface GhostFigures {
  /** Renewals of the ghost's, with a manager waiting all the while. */
  readonly renewals: number;
  /** Whether a manager led although the ghost renewed. */
  readonly ledMeanwhile: boolean;
  readonly takenAfterSeconds: number;
}

const ghost = "ghost-7d4b9c6f5-x2x4z";
const lease = { namespace: "kube-system", name: "kube-controller-manager" };
const collection = `/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases`;
const renewEveryMs = 2_000;

/** The lock as the ghost has it. */
export function ghostLease({ clock }: Pick<Trial, "clock">): object {
  const now = toMicroTime(clock.wallMs());
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: lease,
    spec: {
      holderIdentity: ghost,
      leaseDurationSeconds: 15,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    },
  };
}

/** The ghost's lock must be there; `begin` starts the manager. */
export async function measureGhost(
  trial: Trial,
  renewals: number,
  begin: () => Promise<void>,
): Promise<GhostFigures> {
  const { clock, timers } = trial;
  let takenAt: MonotonicMs | undefined;
  const watch = await follow(trial, leaseKind, lease.namespace, ({ object }) => {
    const isTaken = object.metadata.name === lease.name && object.holderIdentity !== ghost;
    if (isTaken) takenAt ??= clock.monotonicMs();
  });
  await begin();
  let renewedAt = clock.monotonicMs();
  for (let renewed = 0; renewed < renewals; renewed += 1) {
    const spec = { renewTime: toMicroTime(clock.wallMs()) };
    await send(trial, "PATCH", `${collection}/${lease.name}`, { spec });
    renewedAt = clock.monotonicMs();
    await timers.sleep(renewEveryMs);
  }
  const ledMeanwhile = takenAt !== undefined;
  await until(trial, "the lock is taken", () => takenAt !== undefined);
  await watch.stop();
  const takenAfterSeconds = elapsedMs(renewedAt, takenAt ?? renewedAt) / 1_000;
  return { renewals, ledMeanwhile, takenAfterSeconds };
}
