import { expect, test } from "vitest";
import { gateway, gatewayClass } from "../../../tests/gateway/gateway-objects.ts";
import { GatewayFrontEnd } from "../../decide/routing/gateway/gateway-front-end.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { simulate } from "../../simulation/simulation.ts";
import { GatewayStatusWriter } from "./gateway-status-writer.ts";

test("an object whose status is refused keeps no other from its own", async () => {
  const asked = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("lockstep");
    const asked: string[] = [];
    // As definitions do in which a field of the status has another form.
    const client: KubeClient = {
      request: async ({ path }) => {
        asked.push(path);
        throw new StatusError({ code: 422, reason: "Invalid", message: "of another form" });
      },
      stream: async () => expect.unreachable(),
    };
    const classes = [gatewayClass()];
    const gateways = [gateway({ name: "edge" }, [{ name: "http", port: 80, protocol: "HTTP" }])];
    const decision = new GatewayFrontEnd().decide(
      { classes, gateways, routes: [], grants: [] },
      {
        ports: { http: new Map([[80, 80]]), https: new Map() },
        labelsOf: () => ({}),
        certificate: () => ({}),
        hasService: () => true,
      },
    );
    const writer = new GatewayStatusWriter({
      ...environment,
      client,
      gateways: {
        source: {
          classes,
          gateways,
          routes: [],
          version: () => "v1",
          settled: true,
          follow: () => () => undefined,
        },
        decision: () => decision,
        isDecided: () => true,
        takenHosts: () => ({ messages: [], isWhole: false }),
        follow: () => () => undefined,
      },
      addresses: [],
    });
    const stop = new AbortController();
    const running = writer.run(stop.signal);
    await environment.timers.sleep(1_000);
    stop.abort();
    await running;
    return asked;
  });
  const api = "/apis/gateway.networking.k8s.io/v1";
  expect(new Set(asked)).toEqual(
    new Set([
      `${api}/gatewayclasses/lockstep/status`,
      `${api}/namespaces/infra/gateways/edge/status`,
    ]),
  );
});
