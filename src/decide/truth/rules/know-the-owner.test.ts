import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  listed,
  metadata,
  pod,
  podPeer,
  rowsOf,
  service,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { Pod } from "../../../kube/kinds/pod.ts";

const early = 1_000_000 as WallMs;
const late = 2_000_000 as WallMs;

function createdAt(number: number, creationTimestamp: WallMs, fields: Partial<Pod> = {}): Pod {
  const labels = { app: "web" };
  return pod(number, {
    metadata: metadata(`web-${number}`, { labels, creationTimestamp }),
    ...fields,
  });
}

/** A pod of another service that has the address of the first pod. */
function stranger(fields: Partial<Pod> & { readonly meta?: Partial<Pod["metadata"]> } = {}): Pod {
  const { meta, ...own } = fields;
  const labels = { app: "shop" };
  const about = metadata("shop-1", { labels, creationTimestamp: late, ...meta });
  return pod(1, { metadata: about, ...own });
}

const first = (words: FactsInWords) => rowsOf(words).find((row) => row.startsWith("10.0.0.1:"));

const out =
  "10.0.0.1:8080 out (know the address's owner): its address now belongs to another pod, shop/shop-1";
const published = [listed(1), listed(9)];
const despite = ", but its EndpointSlice still lists it as ready";

describe("an endpoint whose address another pod has", () => {
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    ["is out when the other was created later", { strangers: [stranger()] }, out + despite],
    [
      "is out though it answers",
      {
        strangers: [stranger()],
        doubts: new Map([[podPeer(1), { cause: "traffic", answer: "answers" }]]),
      },
      out + despite,
    ],
    [
      "stays when the other was created earlier",
      { strangers: [stranger({ meta: { creationTimestamp: 1 as WallMs } })] },
      "10.0.0.1:8080 active (join at once): its pod is ready",
    ],
    [
      "is out when the later one is going: it has the address until it is gone",
      { strangers: [stranger({ meta: { deletionTimestamp: late } })] },
      out + despite,
    ],
    [
      "drains when it is the later one and going",
      {
        pods: [
          createdAt(1, late, {
            metadata: metadata("web-1", {
              labels: { app: "web" },
              creationTimestamp: late,
              deletionTimestamp: late,
            }),
          }),
          pod(9),
        ],
        strangers: [stranger({ meta: { creationTimestamp: early } })],
      },
      "10.0.0.1:8080 draining (leave at once): its pod is terminating, but its " +
        "EndpointSlice still lists it as ready",
    ],
    [
      "is out when the other was created earlier, and got ready at the address later",
      {
        pods: [createdAt(1, early, { containersReadyTransitionTime: early }), pod(9)],
        strangers: [
          stranger({
            containersReadyTransitionTime: late,
            meta: { creationTimestamp: 1 as WallMs },
          }),
        ],
      },
      out + despite,
    ],
    [
      "stays when the other was created later, and had got ready there before",
      {
        pods: [createdAt(1, early, { containersReadyTransitionTime: late }), pod(9)],
        strangers: [
          stranger({
            containersReadyTransitionTime: 1_500_000 as WallMs,
            meta: { creationTimestamp: 1_400_000 as WallMs },
          }),
        ],
      },
      "10.0.0.1:8080 active (join at once): its pod is ready",
    ],
    [
      "stays when the other was created in the same second, and both are ready",
      { strangers: [stranger({ meta: { creationTimestamp: early } })] },
      "10.0.0.1:8080 active (join at once): its pod is ready",
    ],
    [
      "is out when the other was created in the same second, and it alone is ready",
      {
        pods: [createdAt(1, early, { ready: "False" }), pod(9)],
        strangers: [stranger({ meta: { creationTimestamp: early } })],
        doubts: new Map([[podPeer(1), { cause: "flap", answer: "answers" }]]),
      },
      out + despite,
    ],
    [
      "is out when its own pod is going and the other of the same second is not",
      {
        pods: [
          createdAt(1, early, {
            metadata: metadata("web-1", {
              labels: { app: "web" },
              creationTimestamp: early,
              deletionTimestamp: late,
            }),
          }),
          pod(9),
        ],
        strangers: [stranger({ meta: { creationTimestamp: early } })],
      },
      out + despite,
    ],
    [
      "is out in a stale pod watch, which knows both pods from one source",
      { strangers: [stranger()], podWatch: staleWatch },
      out + despite,
    ],
    [
      "is out when only a slice knows its pod",
      { pods: [pod(9)], strangers: [stranger()] },
      out + despite,
    ],
    [
      "follows its slice when only that knows its pod and the pod watch is stale",
      { pods: [pod(9)], strangers: [stranger()], podWatch: staleWatch },
      "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it " +
        "as ready, and the pod watch is stale: the server has not been reached for over 20 s",
    ],
    [
      "is out in a stale pod watch that has seen its pod go",
      { pods: [pod(9)], strangers: [stranger()], podWatch: staleWatch, gone: ["uid-web-1"] },
      out + despite,
    ],
    [
      "follows its slice when the service has no selector",
      { service: service({ selector: undefined }), pods: [], strangers: [stranger()] },
      "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it " +
        "as ready, and the service has no selector",
    ],
  ];
  test.each(table)("%s", (_, words, expected) => {
    expect(first({ pods: [createdAt(1, early), pod(9)], published, ...words })).toBe(expected);
  });
});

describe("in the host's network", () => {
  const host = { hostNetwork: true } as const;
  const ports = [{ name: "http", containerPort: 8080, protocol: "TCP" }];
  const own = createdAt(1, early, host);

  test.each([
    [
      "has a port of its own",
      { ports: [] },
      "10.0.0.1:8080 active (join at once): its pod is ready",
    ],
    [
      "has the same port of UDP",
      { ports: [{ name: "quic", containerPort: 8080, protocol: "UDP" }] },
      "10.0.0.1:8080 active (join at once): its pod is ready",
    ],
    ["has its port", { ports }, out + despite],
  ] as const)("an endpoint whose address is shared with a later pod that %s", (_, fields, row) => {
    const strangers = [stranger({ ...host, ...fields })];
    expect(first({ pods: [own, pod(9)], strangers, published })).toBe(row);
  });
});

test("of several other pods the reason names the same one whatever the order", () => {
  const strangers = [stranger(), stranger({ meta: { name: "shop-0", uid: "uid-shop-0" } })];
  const rows = [strangers, strangers.toReversed()].map((order) =>
    first({ pods: [createdAt(1, early), pod(9)], published, strangers: order }),
  );
  expect(rows).toEqual(Array(2).fill(`${out.replace("shop-1", "shop-0")}${despite}`));
});
