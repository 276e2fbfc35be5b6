// A service of thousands of endpoints is decided in slices: other services are decided in between, and
// a change in the middle of a decision is neither lost nor applied in part.
import { expect, test } from "vitest";
import { type IngressWorld, inIngressWorld, type WorldCluster } from "./ingress-world.ts";

const wide = "default/wide:80";
const web = "default/web:80";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

const perSlice = 1_000;
const sliceNumbers = [0, 1, 2];
const all = sliceNumbers.length * perSlice;

/** Of each slice of a decision: long enough for any message of the network to arrive. */
const breathMs = 100;

/** After this a decision about the large service has begun, and has not ended. */
const inTheMiddleMs = breathMs;

function endpointsOf(slice: number, count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    addresses: [`10.${slice + 1}.${index >> 8}.${index & 255}`],
    conditions: { ready: true },
  }));
}

async function wideAndQuiet({ east }: { readonly east: WorldCluster }): Promise<void> {
  await east.service("wide", { selector: undefined });
  for (const number of sliceNumbers) {
    await east.create(slices, {
      metadata: { name: `wide-${number}`, labels: { "kubernetes.io/service-name": "wide" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: endpointsOf(number, perSlice),
    });
  }
  await east.ingress("wide", "wide.example", "wide");
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await east.pod("web-2", "web", "10.0.0.2");
  await east.ingress("web", "web.example", "web");
}

/** In the middle of a decision about the large service, of which one endpoint has left. */
function inTheMiddle(play: (world: IngressWorld) => Promise<void>): Promise<void> {
  return inIngressWorld(
    async (world) => {
      await world.simulation.sleep(10_000);
      expect([decided(world), pushable(world)]).toEqual([all, all]);
      const before = world.applied.length;
      await leave(world, 0, 1);
      await world.simulation.sleep(inTheMiddleMs);
      expect(world.applied.length).toBe(before);
      await play(world);
    },
    { breathMs, before: wideAndQuiet },
  );
}

/** So many of the slice's endpoints leave. */
async function leave({ clusters }: IngressWorld, slice: number, count: number): Promise<void> {
  const endpoints = endpointsOf(slice, perSlice - count);
  await clusters.east.update(`${slices}/wide-${slice}`, { endpoints });
}

/** How many endpoints of the large service are decided. */
function decided({ loop }: IngressWorld): number | undefined {
  return loop.decisions.truths.get(wide)?.truth.endpoints.length;
}

/** How many the proxy has, or gets with the next push. */
function pushable({ proxy }: IngressWorld): number | undefined {
  for (const { kind, name, value } of proxy.pusher.state.present()) {
    if (kind === "service" && name === wide) return value?.match(/"10\./g)?.length;
  }
  return undefined;
}

/** Both of them whenever they change, for longer than any of these decisions takes. */
async function numbersOf(world: IngressWorld): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (let at = 0; at < 10_000; at += breathMs / 2) {
    seen.add(`${decided(world)} decided, ${pushable(world)} pushable`);
    await world.simulation.sleep(breathMs / 2);
  }
  return [...seen];
}

test("others are decided in the middle of a decision about a large service", () =>
  inTheMiddle(async (world) => {
    const { applied, clusters, simulation, active } = world;
    const before = applied.length;
    await clusters.east.deletePod("web-1");
    await simulation.sleep(10_000);
    expect(applied.slice(before).map(({ services }) => services)).toEqual([[web], [wide]]);
    expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
    expect([decided(world), pushable(world)]).toEqual([all - 1, all - 1]);
  }));

test("a change of the same service meanwhile is decided afterwards, and each decision as a whole", () =>
  inTheMiddle(async (world) => {
    await leave(world, 1, 2);
    expect(await numbersOf(world)).toEqual([
      `${all} decided, ${all} pushable`,
      `${all - 1} decided, ${all} pushable`,
      `${all - 1} decided, ${all - 1} pushable`,
      `${all - 3} decided, ${all - 1} pushable`,
      `${all - 3} decided, ${all - 3} pushable`,
    ]);
  }));

test("a service that loses its last route meanwhile is gone", () =>
  inTheMiddle(async (world) => {
    const backend = { service: { name: "web", port: { number: 80 } } };
    const rules = [
      { host: "wide.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
    ];
    await world.clusters.east.update(`${ingresses}/wide`, { spec: { rules } });
    expect((await numbersOf(world)).at(-1)).toBe("undefined decided, undefined pushable");
  }));

test("a new route to it is served by what has changed since its decision began", () =>
  inTheMiddle(async (world) => {
    const { clusters, simulation } = world;
    await simulation.sleep(10_000);
    await clusters.east.update(`${ingresses}/wide`, { spec: { ingressClassName: "other" } });
    await simulation.sleep(10_000);
    expect(decided(world)).toBeUndefined();
    await clusters.east.update(`${ingresses}/wide`, { spec: { ingressClassName: "lockstep" } });
    await simulation.sleep(inTheMiddleMs);
    expect(decided(world)).toBeUndefined();
    await leave(world, 2, 5);
    expect((await numbersOf(world)).at(-1)).toBe(`${all - 6} decided, ${all - 6} pushable`);
  }));

test("a stop in the middle of it waits for its end, and nothing is left of it", async () => {
  let numbers: () => readonly (number | undefined)[] = () => [];
  await inTheMiddle(async (world) => {
    numbers = () => [decided(world), pushable(world)];
    expect(numbers()).toEqual([all, all]);
  });
  expect(numbers()).toEqual([all - 1, all - 1]);
});
