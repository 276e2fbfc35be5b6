// Objects stored before the server listens equal those of a create.
import { expect, test } from "vitest";
import { inApiWorld } from "../../tests/apiserver/api-world.ts";
import { simulate } from "../simulation/simulation.ts";
import { ApiServer } from "./api-server.ts";
import { MemoryStorage } from "./storage/memory-storage.ts";

const own = new Set(["uid", "creationTimestamp", "resourceVersion", "name"]);

function service(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
  };
}

const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
const services = "/api/v1/namespaces/shop/services";

/** Without what no two objects share. */
function common(object: unknown): unknown {
  return JSON.parse(
    JSON.stringify(object, (key: string, value: unknown) =>
      own.has(key) || key.startsWith("clusterIP") ? undefined : value,
    ),
  );
}

test("a preloaded object is as one that was created, and costs no request", () =>
  inApiWorld(
    async ({ call, server }) => {
      const counted = await server.metrics.getSingleMetric("apiserver_request_total")?.get();
      expect(counted?.values ?? []).toEqual([]);
      const preloaded = await call("GET", `${services}/first`);
      const created = await call("POST", services, service("second"));
      expect([preloaded.status, created.status]).toEqual([200, 201]);
      expect(common(preloaded.json)).toEqual(common(created.json));
      expect(preloaded.json).toMatchObject({
        metadata: {
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          creationTimestamp: expect.any(String),
          resourceVersion: expect.stringMatching(/^\d+$/),
        },
        spec: { clusterIP: expect.stringMatching(/^10\.96\./), type: "ClusterIP" },
      });
    },
    { objects: [namespace, service("first")] },
  ));

test("a status is reported on a preloaded object, where a create alone would drop it", () => {
  const status = { phase: "Running", podIP: "10.7.0.9", podIPs: [{ ip: "10.7.0.9" }] };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop" },
    spec: { containers: [{ name: "web", image: "web" }] },
    status,
  };
  return inApiWorld(
    async ({ call }) => {
      const { json } = await call("GET", "/api/v1/namespaces/shop/pods/web");
      expect(json).toMatchObject({ status });
      const other = { ...pod, metadata: { name: "other", namespace: "shop" } };
      const created = await call("POST", "/api/v1/namespaces/shop/pods", other);
      expect(created.json).not.toMatchObject({ status });
    },
    { objects: [namespace, pod] },
  );
});

test("an address that a preloaded service has taken is taken", () =>
  inApiWorld(
    async ({ call }) => {
      const refused = await call("POST", services, service("second", { clusterIP: "10.96.0.9" }));
      expect(refused.status).toBe(422);
    },
    { objects: [namespace, service("first", { clusterIP: "10.96.0.9" })] },
  ));

test.each([
  ["an unknown field", { ...service("bad"), speck: {} }, /unknown field "speck"/],
  ["an invalid value", service("bad", { ports: [{ port: 0 }] }), /spec\.ports\[0\]\.port/],
  ["an unknown kind", { apiVersion: "v1", kind: "Servise", metadata: {} }, /not served/],
])("%s is refused before the server listens", (_, object, message) =>
  expect(inApiWorld(async () => undefined, { objects: [namespace, object] })).rejects.toThrow(
    message,
  ),
);

test("a large cluster is preloaded in pieces, between which a run can be stopped", async () => {
  const stop = new AbortController();
  const reason = new Error("stopped");
  let taken = 0;
  function* many(): Generator<object, void, undefined> {
    yield namespace;
    for (; taken < 2000; taken += 1) {
      if (taken === 600) stop.abort(reason);
      yield service(`service-${taken}`);
    }
  }
  const starting = simulate({ seed: 1, signal: stop.signal }, async (simulation) => {
    const host = simulation.host("server");
    const storage = new MemoryStorage(host);
    const options = {
      name: "server",
      gitVersion: "v1.33.1",
      authentication: { tokens: new Map() },
    };
    const server = new ApiServer({ ...host, ...options, storage, objects: many() });
    await server.start({ host: "server", port: 6443 });
  });
  await expect(starting).rejects.toBe(reason);
  expect(taken).toBeLessThan(700);
});
