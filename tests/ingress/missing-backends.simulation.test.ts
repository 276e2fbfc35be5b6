import { expect, test } from "vitest";
import { type IngressWorld, inIngressWorld } from "./ingress-world.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const services = "/api/v1/namespaces/default/services";

/** Some messages of the network, and the time that changes are gathered for. */
const aMomentMs = 1_500;

function problems({ loop }: IngressWorld): readonly string[] {
  return loop.decisions.routes.problems.map(({ origin, message }) => `${origin.name}: ${message}`);
}

test("an Ingress gets a problem for each missing service, for as long as it is missing", () =>
  inIngressWorld(
    async (world) => {
      const { clusters, simulation } = world;
      const none =
        "lost: backend late:80: service default/late does not exist in any cluster, " +
        "so its requests are answered with 503";
      expect(problems(world)).toEqual([none]);
      await clusters.west.service("late", { ports: [{ name: "web", port: 8080 }] });
      await simulation.sleep(aMomentMs);
      expect(problems(world)).toEqual([
        "lost: backend late:80: the service default/late has no port 80 in west " +
          "(ports there: 8080 (web)), so its requests are answered with 503",
      ]);
      await clusters.east.service("late");
      await simulation.sleep(aMomentMs);
      expect(problems(world)).toEqual([
        "lost: backend late:80: the service default/late has no port 80 in west " +
          "(ports there: 8080 (web)), so it gets no requests",
      ]);
      await clusters.west.update(`${services}/late`, { spec: { ports: [{ port: 80 }] } });
      await simulation.sleep(aMomentMs);
      expect(problems(world)).toEqual([]);
    },
    {
      before: async ({ east }) => {
        const backend = { service: { name: "late", port: { number: 80 } } };
        const paths = [{ path: "/", pathType: "Prefix", backend }];
        await east.create(ingresses, {
          metadata: { name: "lost" },
          spec: {
            ingressClassName: "lockstep",
            rules: [{ host: "lost.example", http: { paths } }],
          },
        });
      },
    },
  ));
