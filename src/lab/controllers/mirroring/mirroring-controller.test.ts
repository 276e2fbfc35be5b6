import { expect, test } from "vitest";
import {
  type ControllerWorld,
  endpoints,
  inControllerWorld,
  service,
  services,
  slices,
} from "../../../../tests/controllers/controller-world.ts";
import { objectAt, objectsAt, textsAt } from "../../../apiserver/kinds/fields.ts";
import { mirroringController } from "./mirror-plan.ts";

const settledMs = 3000;
const selectorless = service("web", { selector: null });

function endpointsWith(ips: readonly string[], metadata: object = {}): object {
  const addresses = ips.map((ip) => ({ ip }));
  const subsets = ips.length === 0 ? [] : [{ addresses, ports: [{ port: 80 }] }];
  return { apiVersion: "v1", kind: "Endpoints", metadata: { name: "web", ...metadata }, subsets };
}

/** The addresses of each copied slice. */
async function copied(world: ControllerWorld): Promise<readonly (readonly string[])[]> {
  await world.simulation.sleep(settledMs);
  const all = await world.list(slices);
  const by = "endpointslice.kubernetes.io/managed-by";
  return all
    .filter(({ metadata }) => metadata.labels?.[by] === mirroringController)
    .map((slice) => objectsAt(slice, "endpoints").flatMap((one) => textsAt(one, "addresses")));
}

async function put(world: ControllerWorld, body: object): Promise<void> {
  const { status } = await world.call("PUT", `${endpoints}/web`, body);
  expect(status).toBe(200);
}

/** So that a process that starts again works at once. */
const flags = { "leader-elect": false };

test("Endpoints that users write for a service without a selector are copied, and stay right", () =>
  inControllerWorld(
    async (world) => {
      await world.create(services, selectorless);
      await world.create(endpoints, endpointsWith(["10.0.0.1"]));
      expect(await copied(world)).toEqual([["10.0.0.1"]]);
      await put(world, endpointsWith(["10.0.0.1", "10.0.0.2"]));
      expect(await copied(world)).toEqual([["10.0.0.1", "10.0.0.2"]]);
      const [slice] = await world.list(slices);
      await world.call("DELETE", `${slices}/${slice?.metadata.name}`);
      expect(await copied(world)).toEqual([["10.0.0.1", "10.0.0.2"]]);
      await world.restart(flags);
      expect(await copied(world)).toEqual([["10.0.0.1", "10.0.0.2"]]);
      await put(world, endpointsWith([]));
      expect(await copied(world)).toEqual([]);
    },
    { flags },
  ));

// A slice whose end was seen must not be waited for.
test("what was copied, is not any more and then is again, is copied", () =>
  inControllerWorld(async (world) => {
    const ports = [80, 81, 82];
    const subsets = ports.map((port) => ({
      addresses: [{ ip: "10.0.0.1" }, { ip: `10.0.1.${port}` }],
      ports: [{ port }],
    }));
    await world.create(services, selectorless);
    await world.create(endpoints, { ...endpointsWith([]), subsets });
    expect(await copied(world)).toHaveLength(ports.length);
    await put(world, endpointsWith([]));
    expect(await copied(world)).toEqual([]);
    await put(world, endpointsWith(["10.0.0.1"]));
    expect(await copied(world)).toEqual([["10.0.0.1"]]);
  }));

test.each<[string, object, object]>([
  ["of a service with a selector", service("web"), {}],
  [
    "with the label that says so",
    selectorless,
    { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
  ],
  [
    "that are a lock",
    selectorless,
    { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } },
  ],
])("Endpoints %s are not copied", (_, owner, metadata) =>
  inControllerWorld(async (world) => {
    await world.create(endpoints, endpointsWith(["10.0.0.1"], metadata));
    await world.create(services, owner);
    expect(await copied(world)).toEqual([]);
  }),
);

test("the copies go with the Endpoints, and when the service gets a selector", () =>
  inControllerWorld(async (world) => {
    await world.create(services, selectorless);
    await world.create(endpoints, endpointsWith(["10.0.0.1"]));
    expect(await copied(world)).toHaveLength(1);
    await world.call("DELETE", `${endpoints}/web`);
    expect(await copied(world)).toEqual([]);
    await world.create(endpoints, endpointsWith(["10.0.0.1"]));
    expect(await copied(world)).toHaveLength(1);
    const current = await world.get(`${services}/web`);
    const spec = { ...objectAt(current, "spec"), selector: { app: "web" } };
    await world.call("PUT", `${services}/web`, { ...current, spec });
    expect(await copied(world)).toEqual([]);
  }));

test("a copy that another controller took over goes with the Endpoints all the same", () =>
  inControllerWorld(async (world) => {
    await world.create(services, selectorless);
    await world.create(endpoints, endpointsWith(["10.0.0.1"]));
    await world.simulation.sleep(settledMs);
    const [slice] = await world.list(slices);
    const path = `${slices}/${slice?.metadata.name}`;
    const labels = { "endpointslice.kubernetes.io/managed-by": "somebody" };
    const contentType = "application/merge-patch+json";
    await world.call("PATCH", path, { metadata: { labels } }, { contentType });
    await world.call("DELETE", `${endpoints}/web`);
    await world.simulation.sleep(settledMs);
    expect(await world.list(slices)).toEqual([]);
  }));

test("1.17 copies nothing", () =>
  inControllerWorld(
    async (world) => {
      await world.create(services, selectorless);
      await world.create(endpoints, endpointsWith(["10.0.0.1"]));
      expect(await copied(world)).toEqual([]);
    },
    { profile: "1.17.13" },
  ));
