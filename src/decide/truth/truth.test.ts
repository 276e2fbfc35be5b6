import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  inCluster,
  listed,
  metadata,
  pod,
  podPeer,
  refusedWatch,
  service,
  snapshot,
  staleWatch,
} from "./service-facts.contract.ts";
import { truth } from "./truth.ts";

const policy = { followSlices: false };

/** Each endpoint as `address:port state (rule): reason`. */
function rows(words: FactsInWords, port: number | string = 80, followSlices = false) {
  const { endpoints } = truth(snapshot(inCluster(words)), port, { followSlices });
  return endpoints.map(
    ({ address, port: number, state, rule, reason }) =>
      `${address}:${number} ${state} (${rule}): ${reason}`,
  );
}

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
    doubts: [],
  });
});

describe("holding through a flap", () => {
  const flipped = { ready: "False", containersReady: "True" } as const;
  const why = "its pod was marked unready from outside while its containers are ready";
  const held = (reason: string) =>
    `10.0.0.1:8080 held (hold through a flap): ${why}, and ${reason}`;
  const published = [listed(1, { ready: false })];
  const undressed = {
    type: "httpGet",
    path: undefined,
    scheme: undefined,
    isDressed: false,
    timeoutSeconds: undefined,
  } as const;
  const doubts = (answer: "answers" | "silent" | "unknown") =>
    new Map([[podPeer(1), { cause: "flap", answer } as const]]);
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    ["is held while it is being probed", { doubts: doubts("unknown") }, held("it is being probed")],
    ["is held when it answers", { doubts: doubts("answers") }, held("it answers a probe")],
    [
      "is held when it answers, though the pod watch is stale",
      { doubts: doubts("answers"), podWatch: staleWatch },
      held("it answers a probe"),
    ],
    [
      "is out when it does not answer",
      { doubts: doubts("silent") },
      `10.0.0.1:8080 out (hold through a flap): ${why}, and it does not answer a probe`,
    ],
    ["is out where nobody probes", {}, "10.0.0.1:8080 out (leave at once): its pod is not ready"],
  ];
  test.each(table)("an endpoint whose pod was marked unready from outside %s", (_, words, row) => {
    expect(rows({ pods: [pod(1, flipped)], published, ...words })).toEqual([row]);
  });

  test.each([
    ["the kubelet reported unready", { ready: "False", containersReady: "False" }],
    ["hangs on readiness gates", { ...flipped, hasReadinessGates: true }],
    ["is terminating", { ...flipped, terminating: true }],
    ["has ended", { ...flipped, phase: "Failed" }],
    ["is ready", {}],
  ] as const)("a pod that %s is not doubted", (_, fields) => {
    const words = { pods: [pod(1, fields)], published, doubts: doubts("answers") };
    const decided = truth(snapshot(inCluster(words)), 80, policy);
    expect(decided.doubts).toEqual([]);
    expect(decided.endpoints.map(({ rule }) => rule)).not.toContain("hold through a flap");
  });

  test.each([
    [undefined, undefined],
    [{ type: "exec", port: undefined }, undefined],
    [
      { port: 9999, path: "/ready", scheme: "HTTPS" },
      { port: 9999, path: "/ready", secure: true },
    ],
    [
      { port: "manage", scheme: "HTTP", timeoutSeconds: 3 },
      { port: 9001, path: "/", secure: false, timeoutMs: 3_000 },
    ],
    [
      { port: 80, path: "ready" },
      { port: 80, path: "/ready", secure: false },
    ],
    [{ port: "unnamed", path: "/" }, undefined],
    [{ port: 80, path: "/", isDressed: true }, undefined],
  ] as const)("it is probed as its kubelet would: %j", (fields, http) => {
    const readinessProbe = fields && { ...undressed, ...fields };
    const words = {
      pods: [pod(1, { ...flipped, readinessProbe })],
      published,
      doubts: doubts("unknown"),
    };
    expect(truth(snapshot(inCluster(words)), 80, policy).doubts).toEqual([
      {
        cluster: "east",
        address: "10.0.0.1",
        port: 8080,
        podUid: "uid-web-1",
        ...(http && { http }),
        cause: "flap",
      },
    ]);
  });

  test("a service that follows its slices doubts nothing", () => {
    const words = { pods: [pod(1, flipped)], published, doubts: doubts("answers") };
    const followed = truth(snapshot(inCluster(words)), 80, { followSlices: true });
    expect([followed.doubts, followed.endpoints.map(({ state }) => state)]).toEqual([[], ["out"]]);
  });
});

describe("leaving at once", () => {
  const other = { pods: [pod(9)], published: [listed(9)] };
  const stays = "10.0.0.9:8080 active (join at once): its pod is ready";
  const leaves = (state: string, reason: string) =>
    `10.0.0.1:8080 ${state} (leave at once): ${reason}, though it is still published as ready`;
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    [
      "a terminating pod that still answers drains",
      { pods: [pod(1, { terminating: true })] },
      leaves("draining", "its pod is terminating"),
    ],
    [
      "a terminating pod that is no longer ready is out",
      { pods: [pod(1, { terminating: true, ready: "False" })] },
      leaves("out", "its pod is terminating and not ready"),
    ],
    [
      "an unready pod is out",
      { pods: [pod(1, { ready: "False" })] },
      leaves("out", "its pod is not ready"),
    ],
    [
      "a pod without a Ready condition is out",
      { pods: [pod(1, { ready: undefined })] },
      leaves("out", "its pod is not ready"),
    ],
    [
      "a pod that ended is out",
      { pods: [pod(1, { phase: "Failed" })] },
      leaves("out", "its pod has ended (Failed)"),
    ],
    ["a pod that is gone is out", { gone: ["uid-web-1"] }, leaves("out", "its pod is gone")],
    [
      "a pod whose labels no longer match is out",
      { pods: [pod(1, { metadata: metadata("web-1", { labels: { app: "old" } }) })] },
      leaves("out", "its pod no longer matches the selector"),
    ],
  ];
  test.each(table)("%s", (_, words, expected) => {
    expect(
      rows({
        pods: [...(words.pods ?? []), ...other.pods],
        published: [listed(1), ...other.published],
        ...(words.gone === undefined ? {} : { gone: words.gone }),
      }),
    ).toEqual([expected, stays]);
  });

  test("a pod that got another address leaves the old one and joins at the new one", () => {
    expect(rows({ pods: [pod(1, { podIP: "10.0.0.5" })], published: [listed(1)] })).toEqual([
      leaves("out", "its pod has another address or port now"),
      "10.0.0.5:8080 active (join at once): its pod is ready, " +
        "though it is not published as ready yet",
    ]);
  });

  test("what cannot be undone holds in a stale pod watch; what can does not", () => {
    const words = {
      podWatch: staleWatch,
      pods: [pod(1, { terminating: true }), pod(2, { ready: "False" })],
      published: [listed(1), listed(2)],
    };
    expect(rows(words)).toEqual([
      leaves("draining", "its pod is terminating"),
      "10.0.0.2:8080 active (follow the published endpoints): it is published as ready, " +
        "and the pod watch is stale: the server was last reached 20 s ago",
    ]);
  });
});

describe("joining at once", () => {
  test("a ready pod joins before a slice lists it, or lists it as ready", () => {
    const early = "its pod is ready, though it is not published as ready yet";
    expect(rows({ pods: [pod(1), pod(2)], published: [listed(2, { ready: false })] })).toEqual([
      `10.0.0.1:8080 active (join at once): ${early}`,
      `10.0.0.2:8080 active (join at once): ${early}`,
    ]);
  });

  test("a pod without an address is no endpoint yet", () => {
    expect(rows({ pods: [pod(1, { podIP: "" })] })).toEqual([]);
  });

  test("a stale pod watch lets nobody join", () => {
    expect(rows({ podWatch: staleWatch, pods: [pod(1)] })).toEqual([
      "10.0.0.1:8080 out (follow the published endpoints): it is not published, and the pod " +
        "watch is stale: the server was last reached 20 s ago",
    ]);
  });

  test("a service may ask for pods that are not ready", () => {
    const words = {
      service: service({ publishNotReadyAddresses: true }),
      pods: [pod(1, { ready: "False" })],
      published: [listed(1)],
    };
    expect(rows(words)).toEqual([
      "10.0.0.1:8080 active (join at once): the service takes pods that are not ready",
    ]);
  });
});

describe("when pods do not decide", () => {
  const published = [
    listed(1, { pod: undefined }),
    listed(2, { ready: false }),
    listed(3, { ready: false, serving: true, terminating: true }),
  ];
  const followed = (why: string) => [
    `10.0.0.1:8080 active (follow the published endpoints): it is published as ready, and ${why}`,
    "10.0.0.2:8080 out (follow the published endpoints): it is published as not ready",
    "10.0.0.3:8080 draining (follow the published endpoints): " +
      "it is published as terminating and still serving",
  ];

  test("a service without a selector follows what is published", () => {
    const words = { service: service({ selector: undefined }), published };
    expect(rows(words)).toEqual(followed("the service has no selector"));
  });

  test("without permission to watch pods the slices are followed", () => {
    expect(rows({ podWatch: refusedWatch, published })).toEqual(
      followed("pods may not be watched"),
    );
  });

  test("a published pod that the watch has yet to show is believed", () => {
    expect(rows({ published: [listed(1)] })).toEqual([
      "10.0.0.1:8080 active (follow the published endpoints): " +
        "it is published as ready, and its pod has not been seen yet",
    ]);
  });
});

describe("never empty", () => {
  test("the terminating pods that still answer serve when no other does", () => {
    const words = {
      pods: [pod(1, { terminating: true }), pod(2, { ready: "False" })],
      published: [listed(2)],
    };
    expect(rows(words)).toEqual([
      "10.0.0.1:8080 active (never empty): no endpoint is better: its pod is terminating",
      "10.0.0.2:8080 out (leave at once): its pod is not ready, " +
        "though it is still published as ready",
    ]);
  });
});

describe("following the slices", () => {
  const words: FactsInWords = {
    pods: [pod(1, { terminating: true }), pod(2), pod(3)],
    published: [listed(1), listed(3, { ready: false })],
  };
  const expected = [
    "10.0.0.1:8080 active (follow the slices exactly): " +
      "it is published as ready, and the slices are followed",
    "10.0.0.2:8080 out (follow the slices exactly): " +
      "it is not published, and the slices are followed",
    "10.0.0.3:8080 out (follow the slices exactly): " +
      "it is published as not ready, and the slices are followed",
  ];

  test("for everything, by policy", () => {
    expect(rows(words, 80, true)).toEqual(expected);
  });

  test("for one service, by its annotation", () => {
    const annotations = { "lockstep.dev/follow-slices": "true" };
    expect(rows({ ...words, service: service({ annotations }) })).toEqual(expected);
  });
});

describe("ports", () => {
  test("a named target port is looked up in each pod", () => {
    const early = "its pod is ready, though it is not published as ready yet";
    const words = { pods: [pod(1), pod(2), pod(3, { ports: [] })], published: [listed(1)] };
    const expected = [
      "10.0.0.1:9001 active (join at once): its pod is ready",
      `10.0.0.2:9002 active (join at once): ${early}`,
    ];
    expect(rows(words, "admin")).toEqual(expected);
    expect(rows(words, 81)).toEqual(expected);
  });

  test("the second family of a pod is used for a service of that family", () => {
    const dual = pod(1, { secondPodIP: "fd00::1" });
    const words = {
      service: service({ ipFamilies: ["IPv6"] }),
      pods: [dual],
      published: [listed(1)],
    };
    expect(rows(words)).toEqual([
      "fd00::1:8080 active (join at once): its pod is ready, " +
        "though it is not published as ready yet",
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

  test("what is missing is said", () => {
    expect(truth(snapshot(), 80, policy)).toEqual({
      endpoints: [],
      problems: ["no cluster has the service shop/web"],
      doubts: [],
    });
    const external = service({ type: "ExternalName", selector: undefined, ports: [] });
    const facts = [
      inCluster({ service: service({ ports: [] }) }),
      inCluster({ cluster: "west", service: external }),
    ];
    expect(truth(snapshot(...facts), "http", policy)).toEqual({
      endpoints: [],
      problems: [
        "the service shop/web in east has no port http",
        "the service shop/web in west is an external name, which is not routed",
      ],
      doubts: [],
    });
  });
});
