// Our leader election beside the real one: a kube-controller-manager and Lockstep's candidate
// compete for the same Lease, so each must read what the other writes.
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { LeaderElection } from "../../src/kube/leader/leader-election.ts";
import { readLock } from "../../src/kube/leader/lease-lock.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const { clock, timers } = environment;
const lock = { namespace: "kube-system", name: "kube-controller-manager" };
const times = { leaseDurationMs: 4_000, renewDeadlineMs: 3_000, retryPeriodMs: 500 };
const longestWaitMs = 60_000;

let plane: RealControlPlane;
let client: HttpKubeClient;
beforeAll(async () => {
  plane = await startRealControlPlane({
    controllers: ["endpointslice-controller"],
    controllerManagerFlags: [
      "--leader-elect=true",
      "--leader-elect-lease-duration=4s",
      "--leader-elect-renew-deadline=3s",
      "--leader-elect-retry-period=500ms",
    ],
  });
  const { url, ca, token } = plane;
  const cluster = fixedAccess({ name: "real", server: url, token, tls: { ca } });
  client = new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
});
afterAll(async () => {
  await plane?.stop();
});

it("leaves the lock to a manager that lives, takes it when it died, and hands it back", async () => {
  const manager = plane.controllerManager;
  if (manager === undefined) throw new Error("there is no controller manager");
  await until("the manager leads", async () => (await holder()) !== undefined);
  const managers = await holder();
  const terms: string[] = [];
  const election = new LeaderElection({
    ...environment,
    ...times,
    client,
    lock: { namespace: lock.namespace, name: lock.name },
    identity: "lockstep_e2e",
    releaseOnStop: true,
    onStartedLeading: () => {
      terms.push("began");
    },
    onStoppedLeading: () => {
      terms.push("ended");
    },
  });
  const stopping = new AbortController();
  const running = election.run(stopping.signal);
  try {
    await timers.sleep(3 * times.leaseDurationMs);
    expect(terms).toEqual([]);
    expect(election.leader()?.identity).toBe(managers);

    manager.kill();
    await until("ours leads", () => election.isLeader());
    expect(await holder()).toBe("lockstep_e2e");

    manager.restart();
    await timers.sleep(3 * times.leaseDurationMs);
    expect(manager.isRunning).toBe(true);
    expect(election.isLeader()).toBe(true);
    expect(await holder()).toBe("lockstep_e2e");
  } finally {
    stopping.abort();
    await running;
  }
  expect(terms).toEqual(["began", "ended"]);
  await until("the new manager leads", async () => {
    const now = await holder();
    return now !== undefined && now !== "" && now !== "lockstep_e2e" && now !== managers;
  });
});

async function holder(): Promise<string | undefined> {
  const reference = { ...lock, kind: "Lease" } as const;
  const version = await readLock(client, reference, { deadlineMs: 5_000 });
  return version?.record.holder;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const beganAt = clock.monotonicMs();
  while (!(await holds())) {
    if (clock.monotonicMs() - beganAt > longestWaitMs) throw new Error(`waited in vain: ${what}`);
    await timers.sleep(100);
  }
}
