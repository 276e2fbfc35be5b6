// The objects of the Gateway API, where their definitions come and are missing.
import { expect, test } from "vitest";
import { definitionsPath, gatewayDefinitions } from "../../src/lab/gateway-definitions.ts";
import { lookAgainMs } from "../../src/sources/gateway-source.ts";
import { type IngressWorld, inIngressWorld } from "./ingress-world.ts";

type East = IngressWorld["clusters"]["east"];

const api = "/apis/gateway.networking.k8s.io/v1";
const apiVersion = "gateway.networking.k8s.io/v1";
const web = "default/web:80";
const ports = { http: new Map([[80, 80]]), https: new Map<number, number>() };

/** Until the server serves new kinds. */
const servedMs = 5_000;
const aMomentMs = 500;

async function pods(east: East): Promise<void> {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
}

async function install(east: East): Promise<void> {
  for (const one of gatewayDefinitions()) await east.create(definitionsPath, one);
}

async function route(east: East, service = "web"): Promise<void> {
  await east.create(`${api}/gatewayclasses`, {
    apiVersion,
    kind: "GatewayClass",
    metadata: { name: "lockstep" },
    spec: { controllerName: "lockstep.dev/gateway" },
  });
  await east.create(`${api}/namespaces/default/gateways`, {
    apiVersion,
    kind: "Gateway",
    metadata: { name: "edge" },
    spec: {
      gatewayClassName: "lockstep",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  });
  await east.create(`${api}/namespaces/default/httproutes`, {
    apiVersion,
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "edge" }],
      hostnames: ["web.example"],
      rules: [{ backendRefs: [{ name: service, port: 80 }] }],
    },
  });
}

test("definitions that are installed later are noticed, and Ingresses are served until then", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters, active }) => {
      expect([loop.isReady, loop.gateways?.watches()]).toEqual([true, []]);
      expect(active(web)).toEqual(["east 10.0.0.1:8080"]);
      await clusters.east.ingress("other", "other.example", "web");
      await install(clusters.east);
      await simulation.sleep(servedMs);
      await route(clusters.east);
      await simulation.sleep(lookAgainMs + aMomentMs);
      expect([...loop.decisions.routes.hosts.keys()].sort()).toEqual([
        "other.example",
        "web.example",
        "web.test",
      ]);
    },
    {
      ports,
      before: async ({ east }) => {
        await pods(east);
        await east.ingress("web", "web.test", "web");
      },
    },
  ));

test("nothing is decided before the routes of Gateways are known", () =>
  inIngressWorld(
    async ({ simulation, loop, applied }) => {
      await simulation.sleep(servedMs);
      expect([loop.isReady, applied]).toEqual([false, []]);
    },
    {
      ports,
      unanswered: (path) => path.includes("/httproutes"),
      before: async ({ east }, simulation) => {
        await pods(east);
        await install(east);
        await simulation.sleep(servedMs);
        await route(east);
      },
    },
  ));

test("a cluster that refuses to say what kinds it has is served as one without Gateways", () =>
  inIngressWorld(
    async ({ loop, active }) => {
      expect(loop.isReady).toBe(true);
      expect(active(web)).toEqual(["east 10.0.0.1:8080"]);
    },
    {
      ports,
      forbidden: (path) => path.startsWith("/apis/gateway.networking.k8s.io"),
      before: async ({ east }) => {
        await pods(east);
        await east.ingress("web", "web.test", "web");
      },
    },
  ));

test("a route is served by its service as soon as there is one, and refused again without it", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters, active }) => {
      const refusal = () => loop.decisions.routes.hosts.get("web.example")?.[0]?.policy?.refuse;
      expect(refusal()).toBe(500);
      await clusters.east.service("late");
      await clusters.east.pod("late-1", "late", "10.0.0.2");
      await simulation.sleep(aMomentMs);
      expect([refusal(), active("default/late:80")]).toEqual([undefined, ["east 10.0.0.2:8080"]]);
      await clusters.east.remove("/api/v1/namespaces/default/services/late");
      await simulation.sleep(aMomentMs);
      expect(refusal()).toBe(500);
    },
    {
      ports,
      before: async ({ east }, simulation) => {
        await install(east);
        await simulation.sleep(servedMs);
        await route(east, "late");
      },
    },
  ));

test("a route gets nothing from a port whose appProtocol the proxy cannot speak, for as long as it has it", () =>
  inIngressWorld(
    async ({ simulation, loop, clusters }) => {
      const refusal = () => loop.decisions.routes.hosts.get("web.example")?.[0]?.policy?.refuse;
      const seen: unknown[] = [refusal()];
      for (const appProtocol of ["kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss"]) {
        const ports = [{ port: 80, appProtocol }];
        await clusters.east.update("/api/v1/namespaces/default/services/web", { spec: { ports } });
        await simulation.sleep(aMomentMs);
        seen.push(refusal());
      }
      expect(seen).toEqual([undefined, 500, undefined, 500]);
    },
    {
      ports,
      before: async ({ east }, simulation) => {
        await pods(east);
        await install(east);
        await simulation.sleep(servedMs);
        await route(east);
      },
    },
  ));
