import { expect, test } from "vitest";
import { gateway, gatewayClass, httpRoute } from "../../../tests/gateway/gateway-objects.ts";
import { GatewayFrontEnd } from "../../decide/routing/gateway/gateway-front-end.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { simulate } from "../../simulation/simulation.ts";
import { GatewayStatusWriter } from "./gateway-status-writer.ts";

const api = "/apis/gateway.networking.k8s.io/v1";

/** The paths that are written where the server refuses some with this code. */
async function writtenWhere(refuses: (path: string) => boolean, code: number) {
  const written = new Set<string>();
  await simulate({ seed: 1 }, async (simulation) => {
    const listener = { name: "http", port: 80, protocol: "HTTP" };
    const objects = {
      classes: [gatewayClass()],
      gateways: [gateway({ name: "edge" }, [listener])],
      routes: ["a", "b"].map((name) => httpRoute({ name }, { parentRefs: [{ name: "edge" }] })),
      grants: [],
      policies: [],
    };
    const decision = new GatewayFrontEnd().decide(objects, {
      ports: { http: new Map([[80, 80]]), https: new Map() },
      labelsOf: () => ({}),
      certificate: () => ({}),
      hasService: () => true,
    });
    const request: KubeClient["request"] = ({ path }) => {
      if (refuses(path)) {
        return Promise.reject(new StatusError({ code, reason: "Refused", message: "no" }));
      }
      written.add(path);
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from("{}") });
    };
    const stream: KubeClient["stream"] = () => Promise.reject(new Error("nothing is read"));
    const follow = () => () => undefined;
    const writer = new GatewayStatusWriter({
      ...simulation.host("leader"),
      client: { request, stream },
      addresses: [],
      gateways: {
        source: { ...objects, version: () => "v1", settled: true, follow },
        decision: () => decision,
        isDecided: () => true,
        takenHosts: () => ({ messages: [], isWhole: false }),
        follow,
      },
    });
    const term = new AbortController();
    const running = writer.run(term.signal);
    await simulation.sleep(1_000);
    term.abort();
    await running;
  });
  return [...written];
}

const statuses = {
  class: `${api}/gatewayclasses/lockstep/status`,
  gateway: `${api}/namespaces/infra/gateways/edge/status`,
  a: `${api}/namespaces/infra/httproutes/a/status`,
  b: `${api}/namespaces/infra/httproutes/b/status`,
};

test("a status that the server refuses keeps no other object from its own", async () => {
  const written = await writtenWhere((path) => path === statuses.a, 422);
  expect(written).toEqual([statuses.class, statuses.gateway, statuses.b]);
});

test("a missing permission for one kind keeps no other kind from its status", async () => {
  const written = await writtenWhere((path) => path === statuses.class, 403);
  expect(written).toEqual([statuses.gateway, statuses.a, statuses.b]);
});
