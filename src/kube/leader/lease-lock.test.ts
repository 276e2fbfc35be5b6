// Against the lab's API server, which has the semantics of a real one.
import { expect, test } from "vitest";
import { inApiWorld, pod } from "../../../tests/apiserver/api-world.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, StatusError } from "../client/client.ts";
import { HttpKubeClient } from "../client/http-client.ts";
import { fixedAccess } from "../credentials/credentials.ts";
import { GhostWatch } from "./ghost-watch.ts";
import { LeaderElection } from "./leader-election.ts";
import { podIdentity } from "./leader-identity.ts";
import { defaultElectionTimes } from "./leader-rules.ts";
import { createLease, readLock, updateLease } from "./lease-lock.ts";
import type { LeaderRecord } from "./lease-record.ts";

const lock = { kind: "Lease", namespace: "default", name: "leader" } as const;
const limits = { deadlineMs: 5_000 };
const record: LeaderRecord = {
  holder: "one",
  leaseDurationMs: 15_000,
  acquireTime: "2026-01-01T00:00:00.000001Z",
  renewTime: "2026-01-01T00:00:00.000001Z",
  transitions: 0,
};
const uid = "8c5f3c1e-0d5b-4f39-9a8c-1f2e3d4c5b6a";

function clientOf({ network, clock, timers, log }: Environment): KubeClient {
  const cluster = fixedAccess({ name: "lab", server: "http://server:6443", token: "admin-token" });
  return new HttpKubeClient({ network, clock, timers, cluster, userAgent: "test", log });
}

test("a lock is missing, then created, then replaced, and a write on an old version is refused", async () => {
  await inApiWorld(async ({ client: environment }) => {
    const client = clientOf(environment);
    expect(await readLock(client, lock, limits)).toBeUndefined();
    const created = await createLease(client, lock, record, limits);
    expect(created.record).toEqual(record);
    const renewed = { ...record, renewTime: "2026-01-01T00:00:02.000002Z" };
    await updateLease(client, lock, created, renewed, limits);
    expect((await readLock(client, lock, limits))?.record).toEqual(renewed);
    const late = await updateLease(client, lock, created, record, limits).catch((e: unknown) => e);
    const again = await createLease(client, lock, record, limits).catch((e: unknown) => e);
    expect([late, again].map((e) => (e instanceof StatusError ? e.reason : e))).toEqual([
      "Conflict",
      "AlreadyExists",
    ]);
  });
});

test("the lock of an older component is read from its annotation", async () => {
  await inApiWorld(async (world) => {
    const text =
      '{"holderIdentity":"nginx-qxlt8","leaseDurationSeconds":30,"leaderTransitions":11}';
    const annotations = { "control-plane.alpha.kubernetes.io/leader": text };
    const metadata = { name: "leader", annotations };
    await world.call("POST", "/api/v1/namespaces/default/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
    });
    const read = await readLock(clientOf(world.client), { ...lock, kind: "ConfigMap" }, limits);
    expect(read?.record).toEqual({
      holder: "nginx-qxlt8",
      leaseDurationMs: 30_000,
      acquireTime: undefined,
      renewTime: undefined,
      transitions: 11,
    });
  });
});

test("a ghost is found and deposed by a pod that exists", async () => {
  await inApiWorld(async (world) => {
    const { simulation } = world;
    const created = await world.call("POST", "/api/v1/namespaces/default/pods", pod("live"));
    const { metadata } = created.json as { metadata: { uid: string } };
    const stop = new AbortController();
    const compete = (host: string, identity: string, mayDepose: (holder: string) => boolean) => {
      const environment = simulation.host(host);
      const client = clientOf(environment);
      const election = new LeaderElection({
        ...environment,
        ...defaultElectionTimes,
        client,
        lock,
        identity,
        releaseOnStop: false,
        onStartedLeading: () => undefined,
        mayDepose,
      });
      return { election, running: election.run(stop.signal) };
    };
    const ghost = compete("stray", podIdentity("gone", uid), () => false);
    await simulation.sleep(1_000);
    const environment = simulation.host("live");
    const client = clientOf(environment);
    const watch = new GhostWatch({
      ...environment,
      client,
      lock,
      form: "own",
      podNamespace: "default",
    });
    const watching = watch.run(stop.signal);
    const live = compete("live", podIdentity("live", metadata.uid), (holder) =>
      watch.confirms(holder),
    );
    await simulation.sleep(60_000);
    expect([ghost.election.isLeader(), live.election.isLeader()]).toEqual([false, true]);
    expect(watch.verdict).toEqual({
      kind: "live",
      holder: podIdentity("live", metadata.uid),
      evidence: "pod live exists in namespace default",
    });
    stop.abort();
    await Promise.all([ghost.running, live.running, watching]);
  });
});
