import { expect, test } from "vitest";
import { inIngressWorld, type WorldCluster } from "./ingress-world.ts";

const crowd = 40;

/** Services of one pod, and an Ingress with a path for each. */
async function services(east: WorldCluster, namespace: string, names: readonly string[]) {
  const core = `/api/v1/namespaces/${namespace}`;
  const labels = { app: "web" };
  const containers = [{ name: "c", image: "web:1" }];
  const spec = { nodeName: "n1", containers };
  await east.create(`${core}/pods`, { metadata: { name: "web", labels }, spec });
  const conditions = [{ type: "Ready", status: "True" }];
  const podIP = namespace === "loud" ? "10.0.0.1" : "10.0.0.2";
  const status = { phase: "Running", conditions, podIP, podIPs: [{ ip: podIP }] };
  await east.update(`${core}/pods/web/status`, { status });
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  for (const name of names) {
    const service = { metadata: { name }, spec: { selector: labels, ports } };
    await east.create(`${core}/services`, service);
  }
  const paths = names.map((name) => ({
    path: `/${name}`,
    pathType: "Prefix",
    backend: { service: { name, port: { number: 80 } } },
  }));
  const rules = [{ host: `${namespace}.example`, http: { paths } }];
  await east.create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    metadata: { name: "web" },
    spec: { ingressClassName: "lockstep", rules },
  });
}

/** Another service of the pod, with many ports, and an Ingress with a path for each. */
async function ports(east: WorldCluster, namespace: string, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n + 1);
  const listed = numbers.map((port) => ({ name: `p${port}`, port, targetPort: 8080 }));
  const service = { metadata: { name: "wide" }, spec: { selector: { app: "web" }, ports: listed } };
  await east.create(`/api/v1/namespaces/${namespace}/services`, service);
  const paths = numbers.map((number) => ({
    path: `/${number}`,
    pathType: "Prefix",
    backend: { service: { name: "wide", port: { number } } },
  }));
  await east.create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    metadata: { name: "wide" },
    spec: { ingressClassName: "lockstep", rules: [{ host: "wide.example", http: { paths } }] },
  });
}

test("a service is decided before the many ports of one of another namespace", () =>
  inIngressWorld(
    async ({ loop, applied, simulation }) => {
      await simulation.sleep(1_000);
      const before = applied.length;
      loop.setPolicy({ followSlices: true });
      await simulation.sleep(1_000);
      const decided = applied.slice(before).flatMap(({ services: keys }) => keys);
      expect(decided).toHaveLength(crowd + 2);
      expect(decided.indexOf("quiet/web:80")).toBeLessThanOrEqual(3);
    },
    {
      before: async ({ east }) => {
        for (const name of ["loud", "quiet"]) await east.namespace(name);
        await services(east, "loud", ["web"]);
        await ports(east, "loud", crowd);
        await services(east, "quiet", ["web"]);
      },
    },
  ));

test("a service is decided before the many of another namespace that changed with it", () =>
  inIngressWorld(
    async ({ loop, applied, simulation }) => {
      await simulation.sleep(1_000);
      const before = applied.length;
      // Nothing is published, so every service changes.
      loop.setPolicy({ followSlices: true });
      await simulation.sleep(1_000);
      const decided = applied.slice(before).flatMap(({ services: keys }) => keys);
      expect(decided).toHaveLength(crowd + 1);
      // The first of the crowd is under way when the others are queued.
      expect(decided.indexOf("quiet/web:80")).toBeLessThanOrEqual(2);
    },
    {
      before: async ({ east }) => {
        for (const name of ["loud", "quiet"]) await east.namespace(name);
        const names = Array.from({ length: crowd }, (_, index) => `web-${index}`);
        await services(east, "loud", names);
        await services(east, "quiet", ["web"]);
      },
    },
  ));
