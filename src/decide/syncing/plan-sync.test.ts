import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  endpoint,
  httpPort,
  offer,
  PretendedTarget,
  silent,
  sourceService,
} from "../../../tests/syncing/offers.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { sliceName, syncNames } from "./copy-names.ts";
import type { ServiceOffer } from "./service-offer.ts";
import { describeWrite } from "./sync-write.ts";
import type { SyncedEndpoint } from "./synced-endpoint.ts";

const sliceLabels = {
  "kubernetes.io/service-name": "web",
  "endpointslice.kubernetes.io/managed-by": "lockstep.dev",
  "service.kubernetes.io/headless": "",
  "lockstep.dev/source-cluster": "lab-1",
};
const annotations = { "lockstep.dev/origin-time": "2026-01-02T03:04:05.678000Z" };

function addressesOf(target: PretendedTarget): Record<string, readonly string[]> {
  return Object.fromEntries(
    target
      .state()
      .slices.map((slice) => [
        slice.metadata.name,
        slice.endpoints.flatMap(({ addresses }) => addresses).sort(),
      ]),
  );
}

describe("a service that the access cluster does not have", () => {
  test("gets its namespace, a headless Service without selector, and a slice per cluster", () => {
    const target = new PretendedTarget();
    const pod = { kind: "Pod", namespace: "shop", name: "web-0", uid: "u0" };
    const endpoints = [
      endpoint("10.1.0.2", { ready: false, terminating: true }),
      endpoint("10.1.0.1", { hostname: "web-0", zone: "z1", targetRef: pod }),
    ];
    const plan = target.plan([offer("lab-1", endpoints)], { createNamespaces: true });
    expect(plan).toEqual({
      blocked: undefined,
      writes: [
        {
          type: "create",
          kind: "Namespace",
          namespace: "",
          name: "shop",
          summary: "an offered service is in it",
          object: {
            apiVersion: "v1",
            kind: "Namespace",
            metadata: { name: "shop", labels: { "app.kubernetes.io/managed-by": "lockstep.dev" } },
          },
        },
        {
          type: "create",
          kind: "Service",
          namespace: "shop",
          name: "web",
          summary: "synced from lab-1",
          object: {
            apiVersion: "v1",
            kind: "Service",
            metadata: {
              namespace: "shop",
              name: "web",
              labels: { "app.kubernetes.io/managed-by": "lockstep.dev" },
            },
            spec: {
              clusterIP: "None",
              ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: "web" }],
            },
          },
        },
        {
          type: "create",
          kind: "EndpointSlice",
          namespace: "shop",
          name: "web-lab-1-0",
          cluster: "lab-1",
          summary: "2 endpoints of lab-1",
          object: {
            apiVersion: "discovery.k8s.io/v1",
            kind: "EndpointSlice",
            metadata: { namespace: "shop", name: "web-lab-1-0", labels: sliceLabels, annotations },
            addressType: "IPv4",
            ports: [{ name: "http", port: 8080, protocol: "TCP" }],
            endpoints: [
              {
                addresses: ["10.1.0.1"],
                conditions: { ready: true, serving: true, terminating: false },
                hostname: "web-0",
                zone: "z1",
                targetRef: pod,
              },
              {
                addresses: ["10.1.0.2"],
                conditions: { ready: false, serving: true, terminating: true },
              },
            ],
          },
        },
      ],
    });
  });

  test("is blocked when its namespace is missing and may not be made", () => {
    expect(new PretendedTarget().plan([offer("lab-1", [endpoint("10.1.0.1")])])).toEqual({
      writes: [],
      blocked: "the access cluster has no namespace shop; use --create-namespaces to create it",
    });
  });

  test("is blocked while its namespace is being deleted", () => {
    const target = new PretendedTarget();
    const deletionTimestamp = "2026-01-02T03:04:05Z";
    target.put("Namespace", "", "shop", { metadata: { deletionTimestamp } });
    expect(target.plan([offer("lab-1", [])])).toEqual({
      writes: [],
      blocked: "the namespace shop is being deleted",
    });
  });

  test("that no cluster offers needs nothing", () => {
    expect(new PretendedTarget().plan([silent("lab-1", true), silent("lab-2", false)])).toEqual({
      writes: [],
      blocked: undefined,
    });
  });
});

describe("a change in the source", () => {
  test("is one patch of one slice that names its version", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1"), endpoint("10.1.0.2")]));
    const [slice] = target.state().slices;
    const later = [endpoint("10.1.0.3"), endpoint("10.1.0.2", { ready: false, serving: false })];
    expect(target.plan([offer("lab-1", later)]).writes).toEqual([
      {
        type: "update",
        kind: "EndpointSlice",
        namespace: "shop",
        name: "web-lab-1-0",
        cluster: "lab-1",
        resourceVersion: slice?.metadata.resourceVersion,
        summary: "+1 −1 ~1 endpoints of lab-1",
        patch: {
          metadata: {
            resourceVersion: slice?.metadata.resourceVersion,
            labels: sliceLabels,
            annotations,
          },
          ports: [{ name: "http", port: 8080, protocol: "TCP" }],
          endpoints: [
            {
              addresses: ["10.1.0.2"],
              conditions: { ready: false, serving: false, terminating: false },
            },
            {
              addresses: ["10.1.0.3"],
              conditions: { ready: true, serving: true, terminating: false },
            },
          ],
        },
      },
    ]);
  });

  test("of the origin time alone is no reason to write", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]));
    const seen = { ...offer("lab-1", [endpoint("10.1.0.1")]), changedAt: undefined, version: "8" };
    expect(target.sync(seen)).toEqual([]);
  });

  test("of the target port moves the slice to it in place", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]));
    const moved = endpoint("10.1.0.1", { ports: [{ ...httpPort, port: 9090 }] });
    expect(target.sync(offer("lab-1", [moved])).map(describeWrite)).toEqual([
      "update EndpointSlice shop/web-lab-1-0: ports or labels of lab-1",
    ]);
    expect(target.state().slices[0]?.ports).toEqual([{ ...httpPort, port: 9090 }]);
  });

  test("of the service's ports is one patch of the Service", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", []));
    const service = sourceService({ spec: { ports: [{ name: "h2", port: 81 }] } });
    expect(target.sync(offer("lab-1", [], service))).toMatchObject([
      {
        type: "update",
        kind: "Service",
        patch: { spec: { ports: [{ name: "h2", port: 81, protocol: "TCP", targetPort: 81 }] } },
      },
    ]);
  });

  test("that shows an endpoint in two slices for a moment counts by its better state", () => {
    const both = [endpoint("10.1.0.1"), endpoint("10.1.0.1", { ready: false, serving: false })];
    for (const endpoints of [both, both.toReversed()]) {
      const target = new PretendedTarget("shop");
      target.sync(offer("lab-1", endpoints));
      expect(target.state().slices.flatMap((slice) => slice.endpoints)).toMatchObject([
        { addresses: ["10.1.0.1"], ready: true, serving: true, terminating: false },
      ]);
    }
  });

  test("that leaves no endpoint empties the slice, and one that brings some uses it again", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]));
    expect(target.sync(offer("lab-1", [])).map(describeWrite)).toEqual([
      "update EndpointSlice shop/web-lab-1-0: −1 endpoints of lab-1",
    ]);
    const moved = endpoint("10.1.0.9", { ports: [{ ...httpPort, port: 9090 }] });
    expect(target.sync(offer("lab-1", [moved])).map(describeWrite)).toEqual([
      "update EndpointSlice shop/web-lab-1-0: +1 endpoints of lab-1",
    ]);
  });
});

describe("several clusters", () => {
  test("have slices of their own, and the first is right about ports they disagree on", () => {
    const target = new PretendedTarget("shop");
    const ports = [
      { name: "http", port: 8000 },
      { name: "metrics", port: 9100 },
    ];
    target.sync(
      offer("lab-1", [endpoint("10.1.0.1")]),
      offer("lab-2", [endpoint("10.2.0.1")], sourceService({ spec: { ports } })),
    );
    expect(addressesOf(target)).toEqual({
      "web-lab-1-0": ["10.1.0.1"],
      "web-lab-2-0": ["10.2.0.1"],
    });
    expect(target.state().service?.ports.map(({ name, port }) => [name, port])).toEqual([
      ["http", 80],
      ["metrics", 9100],
    ]);
  });

  test("keep what each had when one withdraws the service", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]), offer("lab-2", [endpoint("10.2.0.1")]));
    const writes = target.sync(silent("lab-1", true), offer("lab-2", [endpoint("10.2.0.1")]));
    expect(writes.map(describeWrite)).toEqual([
      "delete EndpointSlice shop/web-lab-1-0: the service was deleted in lab-1, or is no longer selected",
    ]);
    expect(target.sync(silent("lab-1", true), silent("lab-2", true)).map(describeWrite)).toEqual([
      "delete Service shop/web: no cluster has the service any more",
      "delete EndpointSlice shop/web-lab-2-0: the service was deleted in lab-2, or is no longer selected",
    ]);
  });

  test("keep slices, Service and ports of one that is not known yet", () => {
    const target = new PretendedTarget("shop");
    const metrics = sourceService({ spec: { ports: [{ name: "metrics", port: 9100 }] } });
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]), offer("lab-2", [], metrics));
    expect(target.sync(silent("lab-1", false), offer("lab-2", [], metrics))).toEqual([]);
    expect(target.sync(silent("lab-1", false), silent("lab-2", true)).map(describeWrite)).toEqual([
      "delete EndpointSlice shop/web-lab-2-0: the service was deleted in lab-2, or is no longer selected",
    ]);
    expect(target.sync(silent("lab-1", false), silent("lab-2", true))).toEqual([]);
  });

  test("keep what another syncer has written for a cluster we do not know", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("other", [endpoint("10.9.0.1")]));
    expect(target.sync(silent("lab-1", true))).toEqual([]);
  });
});

describe("what is not ours", () => {
  test("a Service of that name blocks, and nothing is written or taken away", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]));
    target.put("Service", "shop", "web", { spec: { ports: [{ port: 80 }] } });
    const blocked = "Service shop/web exists and was not created by Lockstep";
    expect(target.plan([offer("lab-1", [])])).toEqual({ writes: [], blocked });
    expect(target.plan([silent("lab-1", true)])).toEqual({ writes: [], blocked });
  });

  test("a slice that has the name we would take makes us take the next", () => {
    const target = new PretendedTarget("shop");
    const name = sliceName(syncNames, "web", "lab-1", 0);
    target.put("EndpointSlice", "shop", name, { metadata: { labels: {} }, addressType: "IPv4" });
    target.sync(offer("lab-1", [endpoint("10.1.0.1")]));
    expect(addressesOf(target)).toEqual({ "web-lab-1-1": ["10.1.0.1"] });
  });

  test("a selector that was added to our Service is taken from it", () => {
    const target = new PretendedTarget("shop");
    target.sync(offer("lab-1", []));
    const service = target.objects.get("Service shop/web") ?? {};
    const ports = [{ name: "http", port: 80, targetPort: "web" }];
    target.put("Service", "shop", "web", { ...service, spec: { selector: { app: "x" }, ports } });
    target.sync(offer("lab-1", []));
    expect(target.state().service?.selector).toBeUndefined();
    expect(target.sync(offer("lab-1", []))).toEqual([]);
  });
});

describe("whatever is offered, in whatever order", () => {
  const port = fc.constantFrom([httpPort], [{ ...httpPort, port: 9090 }]);
  const endpoints = fc.array(
    fc
      .record({
        number: fc.integer({ min: 0, max: 250 }),
        ports: port,
        ready: fc.boolean(),
        terminating: fc.boolean(),
        addressType: fc.constantFrom("IPv4", "IPv4", "IPv6"),
      })
      .map(({ number, addressType, ...fields }) =>
        endpoint(addressType === "IPv4" ? `10.0.0.${number}` : `fd00::${number}`, {
          addressType,
          ...fields,
        }),
      ),
    { maxLength: 300 },
  );
  const offered = (cluster: string) =>
    fc.oneof(
      { weight: 6, arbitrary: endpoints.map((list) => offer(cluster, list)) },
      { weight: 1, arbitrary: fc.boolean().map((isKnown) => silent(cluster, isKnown)) },
    );
  const numRuns = isThorough(process.env) ? 200 : 20;
  const history = fc.array(fc.tuple(offered("lab-1"), offered("lab-2")), {
    minLength: 1,
    maxLength: 6,
  });

  test("a second look writes nothing, and the endpoints of every known cluster are there once", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const target = new PretendedTarget("shop");
        for (const offers of steps) {
          target.sync(...offers);
          expect(target.sync(...offers)).toEqual([]);
          for (const one of offers) expectShown(target, one);
        }
      }),
      { numRuns },
    );
  });

  test("the order of endpoints and of slices does not change a write", () => {
    fc.assert(
      fc.property(history, endpoints, (steps, next) => {
        const target = new PretendedTarget("shop");
        for (const offers of steps) target.sync(...offers);
        const state = target.state();
        const plan = (list: readonly SyncedEndpoint[], slices: typeof state.slices) => {
          const turned = new PretendedTarget();
          turned.state = () => ({ ...state, slices });
          return turned.plan([offer("lab-1", list)]).writes;
        };
        expect(plan(next.toReversed(), state.slices.toReversed())).toEqual(
          plan(next, state.slices),
        );
      }),
      { numRuns },
    );
  });

  test("no write names an object of another owner", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const target = new PretendedTarget("shop");
        const labels = { "kubernetes.io/service-name": "web" };
        const foreign = { metadata: { labels }, addressType: "IPv4", endpoints: [], ports: [] };
        target.put("EndpointSlice", "shop", "web-abcde", foreign);
        target.put("EndpointSlice", "shop", "web-lab-1-1", foreign);
        const before = [...target.objects].filter(([key]) => !key.startsWith("Service"));
        for (const offers of steps) target.sync(...offers);
        for (const [key, object] of before) expect(target.objects.get(key)).toBe(object);
      }),
      { numRuns },
    );
  });
});

function expectShown(
  target: PretendedTarget,
  { cluster, isKnown, service, endpoints }: ServiceOffer,
) {
  if (!isKnown) return;
  const slices = target
    .state()
    .slices.filter(({ metadata }) => metadata.labels["lockstep.dev/source-cluster"] === cluster);
  const shown = slices.flatMap((slice) =>
    slice.endpoints.map(({ addresses }) => `${addresses[0]} ${slice.ports[0]?.port}`),
  );
  const wanted = new Set(endpoints.map(({ address, ports }) => `${address} ${ports[0]?.port}`));
  expect(shown.sort()).toEqual(service === undefined ? [] : [...wanted].sort());
  expect(slices.every((slice) => slice.endpoints.length <= 100)).toBe(true);
  expect(slices.length > 0).toBe(service !== undefined);
}
