import { expect, test } from "vitest";
import { inObserverWorld } from "../../tests/observer/observer-world.ts";

const { signal } = new AbortController();

test("one small page of each kind tells how many there are and how large they are", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    const pods = 50;
    for (let index = 1; index <= pods; index += 1) {
      await world.addPod("east", `web-${index}`, `10.0.0.${index}`);
    }
    await world.addService("east", "web");
    const { observer } = world.watch({ clusters: ["east"] });
    const [preview] = await observer.preview(signal);
    const counts = preview?.kinds.map(
      ({ resource, objects, listRequests }) => `${resource} ${objects} ${listRequests}`,
    );
    expect(counts).toEqual(["services 1 1", `pods ${pods} 1`, "endpointslices 0 1", "nodes 0 1"]);
    expect(preview).toMatchObject({
      cluster: "east",
      objects: 1 + pods,
      listRequests: 4,
      watches: 4,
      readsPerMinute: 12,
      problem: undefined,
    });
    const path = "/api/v1/pods";
    const whole = await world
      .client("east", "admin")
      .request({ verb: "list", method: "GET", path });
    const estimate = preview?.kinds[1]?.bytes ?? 0;
    expect(estimate / whole.body.length).toBeGreaterThan(0.9);
    expect(estimate / whole.body.length).toBeLessThan(1.1);
    const [form, ...others] = world.seen("east").map(({ what }) => what);
    const review = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    // How the cluster publishes and whether that may be read, a page of each kind, the list above.
    expect([form, ...others.sort()]).toEqual([
      "GET /apis/discovery.k8s.io/v1",
      "GET /api/v1/nodes",
      "GET /api/v1/pods",
      "GET /api/v1/pods",
      "GET /api/v1/services",
      "GET /apis/discovery.k8s.io/v1/endpointslices",
      review,
      review,
    ]);
  }));

test("what may not be read is not counted, and says why", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east", { hasRules: true });
    await world.allow("east", ["services", "endpointslices"]);
    const { observer } = world.watch({ clusters: ["east"], user: "reader", nodes: false });
    const [preview] = await observer.preview(signal);
    expect(preview?.kinds.filter(({ problem }) => problem !== undefined)).toEqual([
      {
        resource: "pods",
        namespace: undefined,
        objects: undefined,
        bytes: undefined,
        listRequests: undefined,
        problem:
          'pods is forbidden: User "reader" cannot list resource "pods" in API group "" at the ' +
          "cluster scope",
      },
    ]);
  }));

test("of many namespaces the first few are counted, and the others said not to be", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("east");
    const namespaces = Array.from({ length: 12 }, (_, index) => `n-${index}`);
    const { observer } = world.watch({ clusters: ["east"], namespaces });
    const [preview] = await observer.preview(signal);
    const uncounted = preview?.kinds.filter(({ problem }) => problem !== undefined) ?? [];
    expect(uncounted.map(({ resource, namespace }) => `${resource} ${namespace}`)).toEqual([
      "services n-10",
      "services n-11",
      "pods n-10",
      "pods n-11",
      "endpointslices n-10",
      "endpointslices n-11",
    ]);
    expect(preview?.watches).toBe(36);
  }));

test("a cluster that does not answer is reported, with the watches planned there", () =>
  inObserverWorld(async (world) => {
    world.simulation.host("west");
    const { observer } = world.watch({ clusters: ["west"] });
    const [preview] = await observer.preview(signal);
    expect(preview).toMatchObject({ cluster: "west", objects: 0, watches: 4 });
    expect(preview?.problem).toBe("west:6443: connection refused");
  }));
