import { expect } from "vitest";
import { listAt, objectAt, textAt, valueAt } from "../../src/apiserver/kinds/fields.ts";
import { type Random, randomInt } from "../../src/environment/random.ts";
import { sameJson } from "../../src/kube/kinds/same-json.ts";
import { isHeadless, serviceKind } from "../../src/kube/kinds/service.ts";
import { subsetsOf } from "../../src/lab/controllers/endpoints/subsets.ts";
import { ownedPodKind } from "../../src/lab/controllers/owned-pod.ts";
import { type ProfileName, profileNamed, profileNames } from "../../src/lab/versions/profiles.ts";
import { forEachSeed, isThorough } from "../../src/simulation/seeds.ts";
import { type EndpointsWorld, inEndpointsWorld, namespacePath } from "./endpoints-world.ts";

const steps = 40;
const stepMaxMs = 400;
/** Retries after conflicts included. */
const quietMs = 60_000;
const apps = ["x", "y", "z"];

/** The pure property of the same name tries all versions in every run. */
const versions: readonly ProfileName[] = isThorough(process.env) ? profileNames : ["1.17.3"];

for (const profile of versions) {
  forEachSeed(
    `${profile} publishes what is true after any history, and then writes only what its bugs say`,
    { seeds: 1 },
    (seed) =>
      inEndpointsWorld({ profile, seed }, async (world) => {
        const { random } = world.simulation.host("history");
        for (const name of ["s0", "s1"]) await createService(world, `services/${name}`, "x");
        for (const name of ["p0", "p1"]) await createPod(world, `pods/${name}`, "x", "10.0.0.9");
        for (let step = 0; step < steps; step += 1) {
          await anyStep(world, random);
          await world.simulation.sleep(randomInt(random, stepMaxMs));
        }
        await world.simulation.sleep(quietMs);
        expect(await wrong(world, profile, readyAddresses)).toEqual([]);
        const { serviceResyncMs } = profileNamed(profile).endpoints;
        const untilResynced = () =>
          serviceResyncMs === undefined
            ? world.untilResynced()
            : world.simulation.sleep(serviceResyncMs);
        await untilResynced();
        expect(await wrong(world, profile, (subsets) => subsets)).toEqual([]);
        world.requests();
        await untilResynced();
        const again = await writtenAgain(world, profile);
        expect(world.requests()["PUT endpoints"] ?? 0).toBe(again);
      }),
  );
}

function chosen<T>(random: Random, ...values: readonly T[]): T | undefined {
  return values[randomInt(random, values.length)];
}

/** A random step for one of three services or of four pods; impossible ones are refused. */
async function anyStep(world: EndpointsWorld, random: Random): Promise<void> {
  const { call } = world;
  const service = `services/s${randomInt(random, 3)}`;
  const pod = `pods/p${randomInt(random, 4)}`;
  const app = chosen(random, ...apps);
  const podIP = chosen(random, "10.0.0.1", "10.0.0.2", "10.0.0.3");
  const merge = { contentType: "application/merge-patch+json" };
  const patch = (path: string, body: object) =>
    call("PATCH", `${namespacePath}/${path}`, body, merge);
  const status = (fields: object) => patch(`${pod}/status`, { status: fields });
  const flip = () => status(readiness(chosen(random, "True", "False")));
  const step = chosen<() => Promise<unknown>>(
    random,
    flip,
    flip,
    flip,
    () => status({ podIP, podIPs: [{ ip: podIP }] }),
    // The status that a kubelet writes for a pod that has ended.
    () => status({ phase: "Failed", ...readiness("False") }),
    () => patch(pod, { metadata: { labels: { app } } }),
    () => patch(pod, { metadata: { annotations: { touched: app } } }),
    () => call("DELETE", `${namespacePath}/${pod}`),
    () => call("DELETE", `${namespacePath}/${pod}`, { gracePeriodSeconds: 0 }),
    () => createPod(world, pod, app, podIP),
    () => createPod(world, pod, app, podIP),
    () => patch(service, { metadata: { labels: { team: app } } }),
    () => patch(service, { spec: { selector: { app } } }),
    () => call("DELETE", `${namespacePath}/${service}`),
    () => createService(world, service, app),
    () => createService(world, service, app),
  );
  await step?.();
}

function readiness(status: string | undefined): object {
  const lastTransitionTime = "2026-01-01T00:00:05Z";
  return { conditions: [{ type: "Ready", status, lastTransitionTime }] };
}

async function createPod(
  { call }: EndpointsWorld,
  path: string,
  app: string | undefined,
  podIP: string | undefined,
): Promise<void> {
  const { status, json } = await call("POST", `${namespacePath}/pods`, {
    metadata: { name: nameIn(path), labels: { app } },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
  });
  if (status !== 201) return;
  const running = { phase: "Running", podIP, podIPs: [{ ip: podIP }], ...readiness("True") };
  await call("PUT", `${namespacePath}/${path}/status`, { ...objectAt(json), status: running });
}

/** The first is headless, the second is not. */
async function createService(
  { call }: EndpointsWorld,
  path: string,
  app: string | undefined,
): Promise<void> {
  const spec = { selector: { app }, ports: [{ port: 80 }] };
  const name = nameIn(path);
  await call("POST", `${namespacePath}/services`, {
    metadata: { name, labels: { app } },
    spec: name === "s1" ? spec : { ...spec, clusterIP: "None" },
  });
}

function nameIn(path: string): string {
  return path.slice(path.indexOf("/") + 1);
}

/** The result of the rules for the services and pods of the server. */
async function wanted({ call }: EndpointsWorld, profile: ProfileName) {
  const itemsOf = async (resource: string) =>
    listAt((await call("GET", `${namespacePath}/${resource}`)).json, "items");
  const pods = (await itemsOf("pods")).map((pod) => ownedPodKind.project(pod));
  const services = (await itemsOf("services")).map((service) => serviceKind.project(service));
  return services
    .filter(({ selector }) => selector !== undefined)
    .map((service) => {
      const own = pods.filter(
        ({ metadata }) => metadata.labels["app"] === service.selector?.["app"],
      );
      return { service, subsets: subsetsOf(service, own, profileNamed(profile).endpoints) };
    });
}

/** Services whose Endpoints are not what they should be, and Endpoints without a service. */
async function wrong(
  world: EndpointsWorld,
  profile: ProfileName,
  compared: (subsets: unknown) => unknown,
): Promise<readonly string[]> {
  const { json } = await world.call("GET", `${namespacePath}/endpoints`);
  const published = new Map(
    listAt(json, "items").map((item) => [textAt(item, "metadata", "name"), item]),
  );
  // The API server publishes itself.
  published.delete("kubernetes");
  const found: string[] = [];
  for (const { service, subsets } of await wanted(world, profile)) {
    const { name } = service.metadata;
    const shown = valueAt(published.get(name), "subsets");
    const isRight = published.delete(name) && sameJson(compared(shown), compared(subsets));
    if (!isRight) found.push(name);
  }
  return [...found, ...published.keys()];
}

/**
 * The addresses that get traffic. The rest, such as versions of pods that were touched, may be
 * late.
 */
function readyAddresses(subsets: unknown): unknown {
  return listAt({ subsets }, "subsets").flatMap((subset) =>
    listAt(subset, "addresses").map((address) => textAt(address, "ip")),
  );
}

async function writtenAgain(world: EndpointsWorld, profile: ProfileName): Promise<number> {
  const all = await wanted(world, profile);
  if (profile === "1.7") return all.filter(({ subsets }) => subsets.length === 0).length;
  if (profile === "1.17.3") return all.filter(({ service }) => isHeadless(service)).length;
  return 0;
}
