// A decision about thousands of endpoints or paths takes long: its own namespace waits for that.
import { expect, test } from "vitest";
import { monotonicAfter } from "../../src/environment/clock.ts";
import {
  type AppliedDecision,
  type IngressWorld,
  inIngressWorld,
  type WorldCluster,
} from "./ingress-world.ts";

/** Of the clock and of the processor of the loop, because computing takes no time here. */
const decisionMs = 20;

/** So much of a namespace's decisions is free. */
const freeMs = 25;

const core = "/api/v1/namespaces/loud";
const networking = "/apis/networking.k8s.io/v1/namespaces/loud/ingresses";

async function loudService(east: WorldCluster): Promise<void> {
  await east.namespace("loud");
  const ports = [{ name: "http", port: 80 }];
  await east.create(`${core}/services`, { metadata: { name: "wide" }, spec: { ports } });
  const backend = { service: { name: "wide", port: { number: 80 } } };
  const rules = [
    { host: "wide.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
  ];
  await east.create(networking, {
    metadata: { name: "wide" },
    spec: { ingressClassName: "lockstep", rules },
  });
}

async function quietService(east: WorldCluster): Promise<void> {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await east.pod("web-2", "web", "10.0.0.2");
  await east.ingress("web", "web.example", "web");
}

async function publish(east: WorldCluster, number: number): Promise<void> {
  await east.create("/apis/discovery.k8s.io/v1/namespaces/loud/endpointslices", {
    metadata: { name: `wide-${number}`, labels: { "kubernetes.io/service-name": "wide" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [{ addresses: [`10.9.0.${number}`], conditions: { ready: true } }],
  });
}

const isLoud = ({ services }: AppliedDecision) => services.includes("loud/wide:80");

/** Every decision about the loud service, or these, takes long. */
function inLongWorld(
  run: (world: IngressWorld) => Promise<void>,
  { breathMs = 0, isLong = isLoud, isBusy = false } = {},
): Promise<void> {
  let applied: readonly AppliedDecision[] = [];
  const longMs = () => applied.filter(isLong).length * decisionMs;
  return inIngressWorld(
    (world) => {
      ({ applied } = world);
      return run(world);
    },
    {
      breathMs,
      clock: (clock) => ({
        wallMs: () => clock.wallMs(),
        monotonicMs: () => monotonicAfter(clock.monotonicMs(), longMs()),
      }),
      // On a busy machine others have the time.
      processor: { usedMs: () => (isBusy ? 0 : longMs()) },
      before: async ({ east }) => {
        await loudService(east);
        await quietService(east);
      },
    },
  );
}

test("a namespace whose decisions take long has a tenth of the time, and others do not wait", () =>
  inLongWorld(async ({ clusters: { east }, simulation, applied, active }) => {
    await simulation.sleep(1_000);
    const before = applied.length;
    const beganAt = simulation.now();
    for (let number = 1; number <= 100; number += 1) {
      await publish(east, number);
      await simulation.sleep(10);
    }
    const tookMs = simulation.now() - beganAt;
    const loud = applied.slice(before).filter(isLoud).length;
    expect(loud).toBeGreaterThan(1);
    expect(loud).toBeLessThanOrEqual(Math.ceil((tookMs / 10 + freeMs) / decisionMs) + 1);
    await east.deletePod("web-1");
    await simulation.sleep(100);
    expect(active("default/web:80")).toEqual(["east 10.0.0.2:8080"]);
    // Postponed work is done too.
    await simulation.sleep(1_000);
    expect(active("loud/wide:80")).toHaveLength(100);
  }));

test("a namespace never waits for decisions that took long because the machine was busy", () =>
  inLongWorld(
    async ({ clusters: { east }, simulation, nextApplied }) => {
      await simulation.sleep(1_000);
      for (let number = 1; number <= 20; number += 1) {
        const decided = nextApplied();
        await publish(east, number);
        const beganAt = simulation.now();
        await decided;
        expect(simulation.now() - beganAt).toBeLessThan(decisionMs);
      }
    },
    { isBusy: true },
  ));

test("a namespace does not wait after a single decision that took long", () =>
  inLongWorld(async ({ clusters: { east }, simulation, nextApplied, active }) => {
    await simulation.sleep(1_000);
    for (let number = 1; number <= 2; number += 1) {
      const decided = nextApplied();
      await publish(east, number);
      const askedAt = simulation.now();
      await decided;
      // It would be several times as long as the decision.
      expect(simulation.now() - askedAt).toBeLessThan(decisionMs);
    }
    expect(active("loud/wide:80")).toHaveLength(2);
  }));

test("after a long decision others may run, also when nothing else is to be decided", () => {
  const breathMs = 50;
  return inLongWorld(
    async ({ clusters: { east }, simulation, applied }) => {
      await simulation.sleep(1_000);
      const before = applied.length;
      await publish(east, 1);
      while (applied.length === before) await simulation.sleep(1);
      await east.deletePod("web-1");
      await simulation.sleep(1_000);
      const [first, second] = applied.slice(before);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(breathMs);
    },
    { breathMs },
  );
});

const isOfRoutes = ({ routes }: AppliedDecision) => routes;

async function password(east: WorldCluster, user: number): Promise<void> {
  const auth = Buffer.from(`user-${user}:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=`).toString("base64");
  await east.update(`${core}/secrets/users`, { data: { auth } });
}

/** Beside this one, an ordinary Ingress is a small part of a decision. */
async function wideIngress(east: WorldCluster): Promise<void> {
  const backend = { service: { name: "wide", port: { number: 80 } } };
  const paths = Array.from({ length: 50 }, (_, index) => ({
    path: `/${index}`,
    pathType: "Prefix",
    backend,
  }));
  const rules = [{ host: "wide.example", http: { paths } }];
  const annotations = { "lockstep.dev/auth-type": "basic", "lockstep.dev/auth-secret": "users" };
  await east.create(`${core}/secrets`, { metadata: { name: "users" }, data: { auth: "" } });
  await east.update(`${networking}/wide`, { metadata: { annotations }, spec: { rules } });
}

/** By its body size an Ingress is another each time. */
const bodySize = (number: number) => ({
  metadata: { annotations: { "lockstep.dev/proxy-body-size": `${number}m` } },
});

test.each([
  {
    changes: "Ingresses",
    change: (east: WorldCluster, number: number) =>
      east.update(`${networking}/wide`, bodySize(number)),
  },
  { changes: "secrets", change: password },
])(
  "a namespace whose $changes take long to decide has a tenth of the time, and others do not wait",
  ({ change }) =>
    inLongWorld(
      async ({ clusters: { east }, simulation, applied, loop }) => {
        await wideIngress(east);
        await simulation.sleep(5_000);
        const before = applied.length;
        const beganAt = simulation.now();
        for (let number = 1; number <= 50; number += 1) {
          await change(east, number);
          await simulation.sleep(10);
        }
        const tookMs = simulation.now() - beganAt;
        const decided = applied.slice(before).filter(isOfRoutes).length;
        expect(decided).toBeGreaterThan(1);
        expect(decided).toBeLessThanOrEqual(Math.ceil((tookMs / 10 + freeMs) / decisionMs) + 1);
        for (const name of ["quiet-1", "quiet-2"]) {
          await change(east, 200);
          await east.ingress(name, `${name}.example`, "web");
          await simulation.sleep(100);
          expect([...loop.decisions.routes.hosts.keys()]).toContain(`${name}.example`);
        }
        // What waited is decided too.
        await change(east, 300);
        await simulation.sleep(1_000);
        expect(loop.decidedRevision).toBe(loop.revision);
      },
      { isLong: isOfRoutes },
    ),
);
