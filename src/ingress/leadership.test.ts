import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld, pod, pods } from "../../tests/apiserver/api-world.ts";
import { loadBalancerAddress } from "../decide/status/load-balancer-address.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { fixedAccess } from "../kube/credentials/credentials.ts";
import { ingressKind } from "../kube/kinds/ingress.ts";
import { LeaderElection } from "../kube/leader/leader-election.ts";
import { podIdentity } from "../kube/leader/leader-identity.ts";
import { defaultElectionTimes } from "../kube/leader/leader-rules.ts";
import { rewriteAfterMs } from "../outputs/status/status-writer.ts";
import { IngressSource } from "../sources/ingress-source.ts";
import { Leadership, type LeadershipSettings, type PublishSettings } from "./leadership.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const lease = { namespace: "default", name: "leader" };
const mergePatch = { contentType: "application/merge-patch+json" };

/** From a change to its status: the watch, the write, and their answers. */
const atOnceMs = 30;

/** Lease 15 s, renewal and candidates' tries as Kubernetes' own components have them. */
const takeOverMs = 15_000 + 2 * 4_400 + atOnceMs;

interface Started {
  readonly leadership: Leadership;
  readonly metrics: Registry;
  stop(): Promise<void>;
}

async function createIngress({ call }: ApiWorld, name: string, className = "lockstep") {
  const service = { name: "web", port: { number: 80 } };
  const spec = { ingressClassName: className, defaultBackend: { service } };
  await call("POST", ingresses, { metadata: { name }, spec });
}

/** Returns the identity of a replica in it. */
async function createPod({ call }: ApiWorld, name: string): Promise<string> {
  const { json } = await call("POST", pods, pod(name));
  const { metadata } = json as { readonly metadata: { readonly uid: string } };
  return podIdentity(name, metadata.uid);
}

async function removePod({ call }: ApiWorld, name: string): Promise<void> {
  await call("DELETE", `${pods}/${name}`, { gracePeriodSeconds: 0 });
}

async function statusOf({ call }: ApiWorld, name: string) {
  const { json } = await call("GET", `${ingresses}/${name}`);
  const { loadBalancer, metadata } = ingressKind.project(json);
  return { addresses: loadBalancer.map(({ ip }) => ip), version: metadata.resourceVersion };
}

function start(
  { simulation }: ApiWorld,
  host: string,
  publish: Partial<PublishSettings> = {},
  settings: Partial<LeadershipSettings> = {},
): Started {
  const environment = simulation.host(host);
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "test" });
  const metrics = new Registry();
  const asked = new IngressSource({
    ...environment,
    client,
    cluster: "c",
    onRoutes: () => undefined,
  });
  const leadership = new Leadership({
    ...environment,
    cluster,
    asked,
    className: "lockstep",
    metrics,
    watchedLocks: [],
    publish: {
      addresses: [loadBalancerAddress("192.0.2.1")],
      lease,
      identity: host,
      podNamespace: "default",
      deposeGhosts: false,
      ...publish,
    },
    ...settings,
  });
  asked.start();
  const stopping = new AbortController();
  const running = leadership.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the end"));
    await running;
    await asked.stop();
  };
  return { leadership, metrics, stop };
}

async function writesOf({ metrics }: Started): Promise<number> {
  const { values } = (await metrics.getSingleMetric("lockstep_status_writes_total")?.get()) ?? {};
  return (values ?? []).reduce((sum, { value }) => sum + value, 0);
}

test("the leader writes what is wrong, at once when it appears, and nothing else", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    await createIngress(world, "first");
    await createIngress(world, "foreign", "nginx");
    const one = start(world, "one");
    await simulation.sleep(1_000);
    await createIngress(world, "second");
    await simulation.sleep(atOnceMs);
    const [first, second] = [await statusOf(world, "first"), await statusOf(world, "second")];
    expect([first, second].map(({ addresses }) => addresses)).toEqual([
      ["192.0.2.1"],
      ["192.0.2.1"],
    ]);
    expect((await statusOf(world, "foreign")).addresses).toEqual([]);
    await simulation.sleep(rewriteAfterMs);
    await call(
      "PATCH",
      `${ingresses}/first/status`,
      { status: { loadBalancer: { ingress: null } } },
      mergePatch,
    );
    await simulation.sleep(atOnceMs);
    expect((await statusOf(world, "first")).addresses).toEqual(["192.0.2.1"]);
    await simulation.sleep(60_000);
    expect(await statusOf(world, "second")).toEqual(second);
    expect(await writesOf(one)).toBe(3);
    await one.stop();
  }));

test("another writer of the same status is corrected less and less often", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    await createIngress(world, "shop");
    const one = start(world, "one");
    const other = { status: { loadBalancer: { ingress: [{ ip: "198.51.100.1" }] } } };
    for (let turn = 0; turn < 34; turn += 1) {
      await simulation.sleep(5_000);
      if ((await statusOf(world, "shop")).addresses[0] === "198.51.100.1") continue;
      await call("PATCH", `${ingresses}/shop/status`, other, mergePatch);
    }
    // At 0, 5, 15, 35, 75 and 155 seconds, or a turn later.
    expect(await writesOf(one)).toBe(6);
    await one.stop();
  }));

test("a leader that ends or loses its lease leaves every status as it is, and the next takes over", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    await createIngress(world, "shop");
    const one = start(world, "one");
    await simulation.sleep(1_000);
    const two = start(world, "two", { addresses: [loadBalancerAddress("192.0.2.2")] });
    await simulation.sleep(10_000);
    expect((await statusOf(world, "shop")).addresses).toEqual(["192.0.2.1"]);
    expect(await writesOf(two)).toBe(0);
    // Another process holds the lock for ever: both stand by.
    await call(
      "PATCH",
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/leader",
      {
        spec: { holderIdentity: "another", leaseDurationSeconds: 3600 },
      },
      mergePatch,
    );
    await simulation.sleep(60_000);
    expect((await statusOf(world, "shop")).addresses).toEqual(["192.0.2.1"]);
    expect([one, two].map(({ leadership }) => leadership.report().election?.isLeading)).toEqual([
      false,
      false,
    ]);
    await one.stop();
    expect((await statusOf(world, "shop")).addresses).toEqual(["192.0.2.1"]);
    await call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/leader");
    await simulation.sleep(takeOverMs);
    expect((await statusOf(world, "shop")).addresses).toEqual(["192.0.2.2"]);
    await two.stop();
  }));

test("every replica says who leads and since when, and names the ghost that holds another's lock", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    const identity = await createPod(world, "one");
    const lock = { kind: "ConfigMap", namespace: "default", name: "nginx" } as const;
    const renew = (second: number) => ({
      metadata: {
        name: lock.name,
        annotations: {
          "control-plane.alpha.kubernetes.io/leader":
            '{"holderIdentity":"nginx-ingress-controller-qxlt8","leaseDurationSeconds":30,' +
            `"renewTime":"2026-01-01T00:00:${String(second).padStart(2, "0")}Z"}`,
        },
      },
    });
    const path = "/api/v1/namespaces/default/configmaps";
    await call("POST", path, renew(0));
    const one = start(world, "one", { identity });
    await simulation.sleep(1_000);
    const two = start(world, "two", {}, { watchedLocks: [lock] });
    for (let second = 7; second < 60; second += 7) {
      await simulation.sleep(7_000);
      await call("PUT", `${path}/nginx`, renew(second));
    }
    const seen = two.leadership.report();
    expect(seen.election).toEqual({
      lease: "default/leader",
      identity: "two",
      isLeading: false,
      leader: {
        identity,
        since: "2026-01-01T00:00:00.004001Z",
        renewTime: expect.stringMatching(/^2026-01-01T00:00:5/),
        transitions: 0,
        isExpired: false,
      },
    });
    expect(seen.ghosts).toEqual([
      {
        lock,
        holder: "nginx-ingress-controller-qxlt8",
        evidence: [
          "no pod nginx-ingress-controller-qxlt8 in the cluster and no node of that name",
          expect.stringMatching(/^its record was renewed afterwards, last at 2026-01-01T00:00:/),
          "still: no pod nginx-ingress-controller-qxlt8 in the cluster and no node of that name",
        ],
        since: expect.any(Number),
      },
    ]);
    await Promise.all([one.stop(), two.stop()]);
  }));

/** Something else that competes for our lock, in the name of a pod: it does not doubt itself. */
function startGhost({ simulation }: ApiWorld, identity: string) {
  const environment = simulation.host("stray");
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  const election = new LeaderElection({
    ...environment,
    ...defaultElectionTimes,
    client: new HttpKubeClient({ ...environment, cluster, userAgent: "stray" }),
    lock: lease,
    identity,
    releaseOnStop: true,
    onStartedLeading: () => undefined,
  });
  const stopping = new AbortController();
  const running = election.run(stopping.signal);
  return async () => {
    stopping.abort(new Error("the end"));
    await running;
  };
}

test.each([true, false])(
  "a ghost of our own is named, and deposed if that is allowed: %s",
  (deposeGhosts) =>
    inApiWorld(async (world) => {
      const { simulation } = world;
      await createIngress(world, "shop");
      const gone = await createPod(world, "gone");
      const stopGhost = startGhost(world, gone);
      await simulation.sleep(1_000);
      await removePod(world, "gone");
      const identity = await createPod(world, "live");
      const live = start(world, "live", { identity, deposeGhosts });
      await simulation.sleep(45_000);
      const { election, ghosts } = live.leadership.report();
      expect(ghosts.map(({ holder }) => holder)).toEqual(deposeGhosts ? [] : [gone]);
      expect(election?.leader?.identity).toBe(deposeGhosts ? identity : gone);
      expect((await statusOf(world, "shop")).addresses).toEqual(deposeGhosts ? ["192.0.2.1"] : []);
      expect(await writesOf(live)).toBe(deposeGhosts ? 1 : 0);
      await Promise.all([live.stop(), stopGhost()]);
    }),
);

test("a leader that is itself a ghost gives up the lock, and does not take it again", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    await createIngress(world, "shop");
    const gone = await createPod(world, "gone");
    const stray = start(world, "stray", { identity: gone });
    await simulation.sleep(1_000);
    await removePod(world, "gone");
    await simulation.sleep(30_000);
    expect(stray.leadership.report().election).toEqual({
      lease: "default/leader",
      identity: gone,
      isLeading: false,
      leader: undefined,
      aside: "no pod gone in namespace default",
    });
    const identity = await createPod(world, "live");
    const live = start(world, "live", { identity });
    await simulation.sleep(1_000);
    const shown = await live.metrics.getSingleMetricAsString("lockstep_leader_since_seconds");
    expect(shown).toMatch(
      new RegExp(
        `^lockstep_leader_since_seconds\\{name="leader",holder="${identity}"\\} 1767`,
        "m",
      ),
    );
    await live.stop();
    await simulation.sleep(2 * takeOverMs);
    expect(stray.leadership.report().election?.isLeading).toBe(false);
    expect(await writesOf(stray)).toBe(1);
    await stray.stop();
  }));

test("a replica whose pod is gone does not begin to lead, and one that cannot be looked up does", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const gone = await createPod(world, "gone");
    await removePod(world, "gone");
    const stray = start(world, "stray", { identity: gone });
    await simulation.sleep(30_000);
    expect(stray.leadership.report().election).toEqual({
      lease: "default/leader",
      identity: gone,
      isLeading: false,
      leader: undefined,
      aside: "no pod gone in namespace default",
    });
    const outside = start(world, "outside", { identity: "outside/machine_1" });
    await simulation.sleep(takeOverMs);
    expect(outside.leadership.report().election?.isLeading).toBe(true);
    await Promise.all([stray.stop(), outside.stop()]);
  }));
