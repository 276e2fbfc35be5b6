import { expect, test } from "vitest";
import { type IngressWorld, inIngressWorld, type WorldCluster } from "./ingress-world.ts";

/** Some messages of the network, and the time that changes are gathered for. */
const aMomentMs = 1_500;

const host = "shop.example";

/** The service behind the host, and the problems of the authors. */
function served({ loop }: IngressWorld) {
  const { hosts, problems } = loop.decisions.routes;
  return {
    services: hosts.get(host)?.map(({ service }) => service),
    problems: problems.map(({ origin, reason }) => `${origin.namespace}/${origin.name} ${reason}`),
  };
}

async function moveIn(cluster: WorldCluster, namespace: string): Promise<void> {
  await cluster.create("/api/v1/namespaces", { metadata: { name: namespace } });
  const ports = [{ port: 80 }];
  await cluster.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "web" },
    spec: { ports },
  });
  const backend = { service: { name: "web", port: { number: 80 } } };
  const rules = [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
  await cluster.create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    metadata: { name: "web", annotations: { "lockstep.dev/limit-rps": "many" } },
    spec: { ingressClassName: "lockstep", rules },
  });
}

test("a namespace that is being deleted yields its host at once, and gets no more problems", () =>
  inIngressWorld(
    async (world) => {
      const { clusters, simulation } = world;
      const oldWrong = "old/web AnnotationIgnored";
      expect(served(world)).toEqual({ services: ["old/web:80"], problems: [oldWrong] });
      await moveIn(clusters.east, "young");
      await simulation.sleep(aMomentMs);
      const youngWrong = "young/web AnnotationIgnored";
      expect(served(world)).toEqual({
        services: ["old/web:80"],
        problems: [oldWrong, youngWrong, "young/web HostTaken"],
      });
      // It is not emptied here, as if a pod of it took its time to end.
      await clusters.east.deleteNamespace("old");
      await simulation.sleep(aMomentMs);
      expect(served(world)).toEqual({ services: ["young/web:80"], problems: [youngWrong] });
      await clusters.east.deleteNamespace("young");
      await simulation.sleep(aMomentMs);
      expect(served(world)).toEqual({ services: ["old/web:80"], problems: [] });
    },
    { before: ({ east }) => moveIn(east, "old") },
  ));

test("without permission to read namespaces the oldest has the host until its Ingress is gone", () =>
  inIngressWorld(
    async (world) => {
      const { clusters, simulation } = world;
      await moveIn(clusters.east, "young");
      await clusters.east.deleteNamespace("old");
      await simulation.sleep(aMomentMs);
      expect(served(world).services).toEqual(["old/web:80"]);
    },
    { before: ({ east }) => moveIn(east, "old"), forbidden: "namespaces" },
  ));
