import { describe, expect, test } from "vitest";
import {
  inCluster,
  listed,
  pod,
  rowsOf,
  service,
  snapshot,
} from "../../../tests/truth/service-facts.ts";
import { truth } from "./truth.ts";

const policy = { followSlices: false };

test("an endpoint that all witnesses agree on is shown whole", () => {
  expect(
    truth(snapshot(inCluster({ pods: [pod(1)], published: [listed(1)] })), 80, policy),
  ).toEqual({
    endpoints: [
      {
        address: "10.0.0.1",
        port: 8080,
        cluster: "east",
        podUid: "uid-web-1",
        podName: "web-1",
        state: "active",
        reason: "its pod is ready",
        rule: "join at once",
        pod: "ready",
        published: "ready",
      },
    ],
    problems: [],
    probeRequests: [],
  });
});

describe("ports", () => {
  test("a named target port is looked up in each pod", () => {
    const early = "its pod is ready, but its EndpointSlice does not list it as ready yet";
    const words = { pods: [pod(1), pod(2), pod(3, { ports: [] })], published: [listed(1)] };
    const expected = [
      "10.0.0.1:9001 active (join at once): its pod is ready",
      `10.0.0.2:9002 active (join at once): ${early}`,
    ];
    expect(rowsOf(words, { port: "admin" })).toEqual(expected);
    expect(rowsOf(words, { port: 81 })).toEqual(expected);
  });

  test("the second family of a pod is used for a service of that family", () => {
    const dual = pod(1, { secondPodIP: "fd00::1" });
    const words = {
      service: service({ ipFamilies: ["IPv6"] }),
      pods: [dual],
      published: [listed(1)],
    };
    expect(rowsOf(words)).toEqual([
      "fd00::1:8080 active (join at once): its pod is ready, but its EndpointSlice " +
        "does not list it as ready yet",
    ]);
  });
});

describe("several clusters", () => {
  test("are one service, in the order of their names", () => {
    const { endpoints, problems } = truth(
      snapshot(
        inCluster({ cluster: "west", pods: [pod(1)] }),
        inCluster({ cluster: "east", pods: [pod(1), pod(2)] }),
      ),
      80,
      policy,
    );
    expect(endpoints.map(({ cluster, address }) => `${cluster} ${address}`)).toEqual([
      "east 10.0.0.1",
      "east 10.0.0.2",
      "west 10.0.0.1",
    ]);
    expect(problems).toEqual([]);
  });

  test("missing parts are reported", () => {
    expect(truth(snapshot(), 80, policy)).toEqual({
      endpoints: [],
      problems: ["service shop/web does not exist in any cluster"],
      probeRequests: [],
    });
    const silent = { ...snapshot(), silent: ["west"] };
    expect(truth(silent, 80, policy).problems).toEqual([
      "the cluster west has not answered yet: it may have shop/web",
    ]);
    const facts = [
      inCluster({ service: service({ ports: [] }) }),
      inCluster({ cluster: "west", pods: [pod(1)] }),
    ];
    const { endpoints, problems } = truth(snapshot(...facts), "http", policy);
    expect(endpoints.map(({ cluster }) => cluster)).toEqual(["west"]);
    expect(problems).toEqual(["the service shop/web in east has no port http"]);
  });

  test("looks at as many ports of a service as a slice has room for", () => {
    const ports = Array.from({ length: 200 }, (_, n) => ({
      name: `p${n}`,
      port: n + 1,
      protocol: "TCP",
      targetPort: 8080,
      appProtocol: undefined,
    }));
    const wide = inCluster({ service: service({ ports }), pods: [pod(1)] });
    const found = (port: number) => truth(snapshot(wide), port, policy).endpoints.length;
    expect([found(1), found(100), found(101)]).toEqual([1, 1, 0]);
  });
});
