import { describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { type EndpointSlice, endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../kube/kinds/endpoints.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import { type Node, nodeKind } from "../kube/kinds/node.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import { Store } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import { selectorIndex } from "../sources/service-pods.ts";
import type { Observation, ObservationSink } from "../timeline/observation.ts";
import type {
  ClusterStamp,
  FollowedService,
  UnfollowedService,
  Witness,
} from "../timeline/witness.ts";
import { type Learnt, PodWitness } from "./pod-witness.ts";
import { PublishedWitness, publishedServiceOf } from "./published-witness.ts";
import { RoutedWitness } from "./routed-witness.ts";

const at = 7 as MonotonicMs;
const watched: Learnt = { at, baseline: false, notBefore: undefined };

/** Writes down what is reported, as lines. */
class ReportLines implements ObservationSink {
  lines: string[] = [];

  report(report: Observation): void {
    const { witness, endpoint, direction, cause, baseline, notBefore, clusterStamp } = report;
    const { service, address, port, podUid, cluster } = endpoint;
    const words = [
      `${witness.hop} ${direction === "join" ? "+" : "−"}${address}:${port}`,
      `${cluster ?? "?"}/${service} ${podUid ?? "?"}`,
      ...(cause === undefined ? [] : [cause]),
      ...(baseline === true ? ["baseline"] : []),
      ...(notBefore === undefined ? [] : [`not before ${notBefore}`]),
      ...(clusterStamp === undefined ? [] : [stampText(clusterStamp)]),
    ];
    this.lines.push(words.join(" · "));
  }

  follow(witness: Witness, { service, ports = [] }: FollowedService): void {
    const at = ports.length > 0 ? ` at ${ports.join(", ")}` : "";
    this.lines.push(`${witness.hop} follows ${service}${at}`);
  }

  unfollow(witness: Witness, { service, forGood }: UnfollowedService): void {
    const how = forGood === true ? ", for good" : "";
    this.lines.push(`${witness.hop} no longer follows ${service}${how}`);
  }

  take(): readonly string[] {
    const taken = this.lines;
    this.lines = [];
    return taken;
  }
}

function stampText({ at, by }: ClusterStamp): string {
  return `${new Date(at).toISOString().slice(14, 19)} by ${by === "" ? "the API server" : by}`;
}

let version = 0;
function meta(name: string, more: object = {}): object {
  version += 1;
  return { namespace: "shop", name, uid: name, resourceVersion: String(version), ...more };
}

interface PodFields {
  readonly ip?: string | null;
  readonly ready?: boolean;
  readonly meta?: object;
  readonly phase?: string;
  readonly port?: number;
  readonly status?: object;
  /** When it became ready or unready. */
  readonly since?: string;
}

function pod(name: string, more: PodFields) {
  const { ip = "10.0.0.1", ready = true, phase = "Running", port = 8080, since } = more;
  return podKind.project({
    metadata: meta(name, { labels: { app: "web" }, ...more.meta }),
    spec: {
      nodeName: "n1",
      containers: [{ ports: [{ name: "http", containerPort: port }] }],
    },
    status: {
      phase,
      podIPs: ip === null ? [] : [{ ip }, { ip: "fd00::1" }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: since }],
      ...more.status,
    },
  });
}

function service(name: string, spec: object = {}): Service {
  const ports = [{ port: 80, targetPort: "http" }];
  return serviceKind.project({
    metadata: meta(name),
    spec: { selector: { app: "web" }, ports, ipFamilies: ["IPv4"], ...spec },
  });
}

class PodWorld {
  readonly reports = new ReportLines();
  readonly #services = new Store({ indexes: { selector: selectorIndex } });
  readonly #pods = new Store<Pod>({ indexes: {} });
  readonly nodes = { synced: false, store: new Store<Node>({ indexes: {} }) };
  readonly #witness = new PodWitness({
    cluster: "east",
    sink: this.reports,
    services: this.#services,
    pods: this.#pods,
    families: "all",
    nodes: this.nodes,
  });

  begin(): this {
    this.#witness.begin();
    return this;
  }

  pod(object: Pod, learnt = watched): readonly string[] {
    this.#witness.podChanged(changeOf(this.#pods.set(object), object), learnt);
    return this.reports.take();
  }

  service(object: Service, learnt = watched): readonly string[] {
    this.#witness.serviceChanged(changeOf(this.#services.set(object), object), learnt);
    return this.reports.take();
  }

  deletePod(object: Pod): readonly string[] {
    this.#pods.delete("shop", object.metadata.name);
    this.#witness.podChanged(deletionOf(object), watched);
    return this.reports.take();
  }

  deleteService(object: Service): readonly string[] {
    this.#services.delete("shop", object.metadata.name);
    this.#witness.serviceChanged(deletionOf(object), watched);
    return this.reports.take();
  }
}

function changeOf<T extends Projected>(previous: T | undefined, object: T): Change<T> {
  return previous === undefined
    ? { type: "added", object, learntBy: "watch" }
    : { type: "updated", object, previous, learntBy: "watch" };
}

function deletionOf<T extends Projected>(object: T): Change<T> {
  return { type: "deleted", object, finalStateUnknown: false, learntBy: "watch" };
}

describe("the pod watch", () => {
  const join = "pod +10.0.0.1:8080 · east/shop/web a";
  const leave = "pod −10.0.0.1:8080 · east/shop/web a";

  test.each<[string, Parameters<typeof pod>[1], string]>([
    ["unready", { ready: false }, "unready"],
    [
      "terminating",
      { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
      "terminating · 00:00 by the API server",
    ],
    ["ended", { phase: "Failed", ready: false }, "ended"],
    ["relabelled", { meta: { labels: { app: "other" } } }, "relabelled"],
  ])("shows a ready pod join once, and leave when it is %s", (_how, fields, cause) => {
    const world = new PodWorld().begin();
    expect(world.service(service("web"))).toEqual(["pod follows shop/web"]);
    expect(world.pod(pod("a", { ready: false }))).toEqual([]);
    expect(world.pod(pod("a", {}))).toEqual([`${join} · ready`]);
    expect(world.pod(pod("a", { meta: { annotations: { touched: "yes" } } }))).toEqual([]);
    expect(world.pod(pod("a", fields))).toEqual([`${leave} · ${cause}`]);
    expect(world.deletePod(pod("a", fields))).toEqual([]);
  });

  test("shows a pod that was deleted at once", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    world.pod(pod("a", {}));
    expect(world.deletePod(pod("a", {}))).toEqual([`${leave} · deleted`]);
  });

  test("matches pods to a service that comes later, and lets go of one that is deleted", () => {
    const world = new PodWorld().begin();
    const web = service("web");
    world.pod(pod("a", {}));
    expect(world.service(web)).toEqual(["pod follows shop/web", `${join} · service added`]);
    expect(world.service(service("all", { selector: {}, ports: [{ port: 9000 }] }))).toEqual([
      "pod follows shop/all",
      "pod +10.0.0.1:9000 · east/shop/all a · service added",
    ]);
    expect(world.deleteService(web)).toEqual([
      `${leave} · service deleted`,
      "pod no longer follows shop/web",
    ]);
  });

  test("shows one endpoint for each port and family of the service, and follows its changes", () => {
    const world = new PodWorld().begin();
    world.pod(pod("a", {}));
    const ports = [
      { port: 80, targetPort: "http" },
      { name: "m", port: 9090 },
    ];
    const dual = { ports, ipFamilies: ["IPv6", "IPv4"] };
    expect(world.service(service("web", dual)).slice(1)).toEqual([
      "pod +fd00::1:8080 · east/shop/web a · service added",
      "pod +fd00::1:9090 · east/shop/web a · service added",
      "pod +10.0.0.1:8080 · east/shop/web a · service added",
      "pod +10.0.0.1:9090 · east/shop/web a · service added",
    ]);
    expect(world.service(service("web", { ports: [{ port: 80, targetPort: "no-such" }] }))).toEqual(
      [
        "pod follows shop/web",
        "pod −fd00::1:8080 · east/shop/web a · service changed",
        "pod −fd00::1:9090 · east/shop/web a · service changed",
        "pod −10.0.0.1:8080 · east/shop/web a · service changed",
        "pod −10.0.0.1:9090 · east/shop/web a · service changed",
      ],
    );
  });

  test("keeps unready and terminating pods of a service that publishes them", () => {
    const world = new PodWorld().begin();
    world.service(service("web", { publishNotReadyAddresses: true }));
    expect(world.pod(pod("a", { ready: false }))).toEqual([`${join} · started`]);
    const terminating = { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(world.pod(pod("a", terminating))).toEqual([]);
  });

  test("is followed only once the pods are known, and then for services with a selector", () => {
    const world = new PodWorld();
    expect(world.service(service("web"))).toEqual([]);
    expect(world.service(service("bare", { selector: null }))).toEqual([
      "pod no longer follows shop/bare",
    ]);
    world.begin();
    expect(world.reports.take()).toEqual(["pod follows shop/web"]);
  });

  test("has no endpoint without an address, and another one with another address", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    expect(world.pod(pod("a", { ip: null }))).toEqual([]);
    expect(world.pod(pod("a", {}))).toEqual([`${join} · ready`]);
    expect(world.pod(pod("a", { ip: "10.0.0.9" }))).toEqual([
      `${leave} · address changed`,
      "pod +10.0.0.9:8080 · east/shop/web a · address changed",
    ]);
  });

  test("finds a named port where each pod has it", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    expect(world.pod(pod("a", {}))).toEqual([`${join} · ready`]);
    expect(world.pod(pod("b", { ip: "10.0.0.2", port: 9999 }))).toEqual([
      "pod +10.0.0.2:9999 · east/shop/web b · ready",
    ]);
  });

  test("follows a selector that changes, and a service that gives pods up", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    world.pod(pod("a", {}));
    const other = { app: "other" };
    world.pod(pod("b", { ip: "10.0.0.2", meta: { labels: other } }));
    expect(world.service(service("web", { selector: other }))).toEqual([
      "pod follows shop/web",
      `${leave} · service changed`,
      "pod +10.0.0.2:8080 · east/shop/web b · service changed",
    ]);
    expect(world.service(service("web", { selector: other, type: "ExternalName" }))).toEqual([
      "pod −10.0.0.2:8080 · east/shop/web b · service changed",
      "pod no longer follows shop/web",
    ]);
  });

  test("says when it was by the cluster's own clock, and whose clock that is", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    const at = (minute: number) => `2026-01-01T00:0${minute}:30Z`;
    expect(world.pod(pod("a", { since: at(1) }))).toEqual([`${join} · ready · 01:30 by n1`]);
    expect(world.pod(pod("a", { ready: false, since: at(2) }))).toEqual([
      `${leave} · unready · 02:30 by n1`,
    ]);
    world.pod(pod("a", { since: at(3) }));
    const deletion = { deletionTimestamp: at(5), deletionGracePeriodSeconds: 60 };
    expect(world.pod(pod("a", { since: at(3), meta: deletion }))).toEqual([
      `${leave} · terminating · 04:30 by the API server`,
    ]);
    world.pod(pod("b", { ip: "10.0.0.2" }));
    const terminated = { finishedAt: at(6) };
    const status = { containerStatuses: [{ ready: false, state: { terminated } }] };
    expect(world.pod(pod("b", { ip: "10.0.0.2", phase: "Failed", status }))).toEqual([
      "pod −10.0.0.2:8080 · east/shop/web b · ended · 06:30 by n1",
    ]);
  });

  test("blames the node where the node is not ready or gone", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    const flap = (): readonly string[] => {
      world.pod(pod("a", {}));
      return world.pod(pod("a", { ready: false }));
    };
    expect(flap()).toEqual([`${leave} · unready`]);
    world.nodes.synced = true;
    for (const [status, cause] of [
      ["True", "unready"],
      ["Unknown", "node not ready"],
      ["False", "node not ready"],
    ]) {
      const conditions = [{ type: "Ready", status }];
      const name = { name: "n1", uid: "n1", resourceVersion: "1" };
      world.nodes.store.set(nodeKind.project({ metadata: name, status: { conditions } }));
      expect(flap()).toEqual([`${leave} · ${cause}`]);
    }
    world.nodes.store.delete("", "n1");
    expect(flap()).toEqual([`${leave} · node gone`]);
    world.pod(pod("a", {}));
    expect(world.deletePod(pod("a", {}))).toEqual([`${leave} · node gone`]);
  });

  test("says since when a change can be that a list showed", () => {
    const world = new PodWorld().begin();
    world.service(service("web"));
    const first: Learnt = { at, baseline: true, notBefore: undefined };
    expect(world.pod(pod("a", {}), first)).toEqual([`${join} · ready · baseline`]);
    const again: Learnt = { at, baseline: false, notBefore: 3 as MonotonicMs };
    expect(world.pod(pod("a", { ready: false }), again)).toEqual([
      `${leave} · unready · not before 3`,
    ]);
  });
});

function slice(name: string, pods: readonly (string | object)[], more: object = {}): EndpointSlice {
  return endpointSliceKind.project({
    metadata: meta(name, { labels: { "kubernetes.io/service-name": "web" }, ...more }),
    addressType: "IPv4",
    ports: [{ port: 8080 }],
    endpoints: pods.map((one) =>
      typeof one === "string"
        ? { addresses: [`10.0.0.${one}`], targetRef: { kind: "Pod", uid: one } }
        : one,
    ),
  });
}

function publishedWorld() {
  const reports = new ReportLines();
  const witness = new PublishedWitness({
    witness: { hop: "published", name: "east" },
    sink: reports,
    serviceOf: publishedServiceOf("east"),
  });
  const store = new Store<EndpointSlice>({ indexes: {} });
  return {
    reports,
    witness,
    set: (object: EndpointSlice) => {
      witness.sliceChanged(changeOf(store.set(object), object), watched);
      return reports.take();
    },
    remove: (object: EndpointSlice) => {
      store.delete("shop", object.metadata.name);
      witness.sliceChanged(deletionOf(object), watched);
      return reports.take();
    },
  };
}

describe("published endpoints", () => {
  test("join and leave as slices list them, however they are split", () => {
    const { set, remove } = publishedWorld();
    expect(set(slice("web-x", ["1", "2"]))).toEqual([
      "published follows shop/web",
      "published +10.0.0.1:8080 · east/shop/web 1",
      "published +10.0.0.2:8080 · east/shop/web 2",
    ]);
    expect(set(slice("web-y", ["2", "3"]))).toEqual(["published +10.0.0.3:8080 · east/shop/web 3"]);
    expect(set(slice("web-x", ["1"]))).toEqual([]);
    expect(remove(slice("web-x", ["1"]))).toEqual(["published −10.0.0.1:8080 · east/shop/web 1"]);
    expect(remove(slice("web-y", ["2", "3"]))).toEqual([
      "published −10.0.0.2:8080 · east/shop/web 2",
      "published −10.0.0.3:8080 · east/shop/web 3",
      "published no longer follows shop/web",
    ]);
  });

  test("an address that changes hands leaves and joins, and one not ready is not listed", () => {
    const { set } = publishedWorld();
    set(slice("web-x", ["1"]));
    const conditions = { ready: false, serving: true, terminating: true };
    const successor = { addresses: ["10.0.0.1"], targetRef: { kind: "Pod", uid: "9" } };
    expect(set(slice("web-x", [successor, { addresses: ["10.0.0.2"], conditions }]))).toEqual([
      "published −10.0.0.1:8080 · east/shop/web 1",
      "published +10.0.0.1:8080 · east/shop/web 9",
    ]);
  });

  test("the time of the trigger is that of the joins it is new with, and of nothing else", () => {
    const { set } = publishedWorld();
    const annotated = (time: string) => ({
      annotations: { "endpoints.kubernetes.io/last-change-trigger-time": time },
    });
    const one = annotated("2026-01-01T00:01:00Z");
    const two = annotated("2026-01-01T00:02:00Z");
    const stamp = (minute: number) => `0${minute}:00 by the API server`;
    expect(set(slice("web-x", ["1", "2"], one)).slice(1)).toEqual([
      `published +10.0.0.1:8080 · east/shop/web 1 · ${stamp(1)}`,
      `published +10.0.0.2:8080 · east/shop/web 2 · ${stamp(1)}`,
    ]);
    expect(set(slice("web-x", ["2", "3"], two))).toEqual([
      "published −10.0.0.1:8080 · east/shop/web 1",
      `published +10.0.0.3:8080 · east/shop/web 3 · ${stamp(2)}`,
    ]);
    expect(set(slice("web-x", ["2", "3", "4"], two))).toEqual([
      "published +10.0.0.4:8080 · east/shop/web 4",
    ]);
    expect(set(slice("web-x", ["2", "3", "4", "5"], annotated("soon")))).toEqual([
      "published +10.0.0.5:8080 · east/shop/web 5",
    ]);
  });

  test("a slice that is given to another service leaves the one and joins the other", () => {
    const { set } = publishedWorld();
    set(slice("web-x", ["1"]));
    const labels = { "kubernetes.io/service-name": "api" };
    expect(set(slice("web-x", ["1"], { labels }))).toEqual([
      "published follows shop/api",
      "published −10.0.0.1:8080 · east/shop/web 1",
      "published no longer follows shop/web",
      "published +10.0.0.1:8080 · east/shop/api 1",
    ]);
  });

  test("a slice without a service is passed over", () => {
    const { set, remove } = publishedWorld();
    const stray = slice("stray", ["1"], { labels: {} });
    expect([...set(stray), ...remove(stray)]).toEqual([]);
  });

  test("a service is expected to be published before anything is, and until all is gone", () => {
    const { reports, witness, set, remove } = publishedWorld();
    const web = service("web");
    const ref = { cluster: "east", service: "shop/web" };
    witness.serviceChanged(changeOf(undefined, web), ref);
    expect(reports.take()).toEqual(["published follows shop/web"]);
    set(slice("web-x", ["1"]));
    witness.serviceChanged(deletionOf(web), ref);
    expect(reports.take()).toEqual([]);
    expect(remove(slice("web-x", ["1"]))).toEqual([
      "published −10.0.0.1:8080 · east/shop/web 1",
      "published no longer follows shop/web",
    ]);
  });

  test("Endpoints show their ready addresses for every port", () => {
    const { reports, witness } = publishedWorld();
    const endpoints = (ready: readonly string[], notReady: readonly string[]): Endpoints =>
      endpointsKind.project({
        metadata: meta("web"),
        subsets: [
          {
            addresses: ready.map((one) => ({ ip: `10.0.0.${one}`, targetRef: { uid: one } })),
            notReadyAddresses: notReady.map((one) => ({ ip: `10.0.0.${one}` })),
            ports: [{ port: 8080 }, { name: "m", port: 9090 }],
          },
        ],
      });
    const before = endpoints(["1"], ["2"]);
    witness.endpointsChanged(changeOf(undefined, before), watched);
    witness.endpointsChanged(changeOf(before, endpoints([], ["1", "2"])), watched);
    expect(reports.take()).toEqual([
      "published follows shop/web",
      "published +10.0.0.1:8080 · east/shop/web 1",
      "published +10.0.0.1:9090 · east/shop/web 1",
      "published −10.0.0.1:8080 · east/shop/web 1",
      "published −10.0.0.1:9090 · east/shop/web 1",
    ]);
  });
});

test("a replica names its ports before what it routes to there", () => {
  const reports = new ReportLines();
  const witness = new RoutedWitness({ replica: "r1", sink: reports });
  const at = (value: number) => value as MonotonicMs;
  const one = { address: "10.0.0.1", port: 8080 };
  witness.began(new Map([["shop/web", [one]]]), at(0));
  witness.routed("shop/web", [one, { ...one, port: 9090 }], at(1));
  expect(reports.take()).toEqual([
    "routed follows shop/web at 8080",
    "routed +10.0.0.1:8080 · ?/shop/web ? · baseline",
    "routed follows shop/web at 8080, 9090",
    "routed +10.0.0.1:9090 · ?/shop/web ?",
  ]);
  witness.stop();
  expect(reports.take()).toEqual(["routed no longer follows shop/web, for good"]);
});

test("a replica shows what differs from what it routed to before", () => {
  const reports = new ReportLines();
  const witness = new RoutedWitness({ replica: "r1", sink: reports });
  const at = (value: number) => value as MonotonicMs;
  const one = { address: "10.0.0.1", port: 8080, cluster: "east", podUid: "1" };
  const two = { address: "10.0.0.2", port: 8080 };
  witness.began(new Map([["shop/web", [one]]]), at(0));
  witness.routed("shop/web", [one, two], at(1));
  witness.routed("shop/web", [one, two], at(2));
  witness.routed("shop/web", [two], at(3));
  witness.routed("shop/api", [], at(4));
  witness.dropped("shop/web", at(5));
  witness.stop();
  expect(reports.take()).toEqual([
    "routed follows shop/web at 8080",
    "routed +10.0.0.1:8080 · east/shop/web 1 · baseline",
    "routed +10.0.0.2:8080 · ?/shop/web ?",
    "routed −10.0.0.1:8080 · east/shop/web 1",
    "routed follows shop/api",
    "routed −10.0.0.2:8080 · ?/shop/web ?",
    "routed no longer follows shop/web, for good",
    "routed no longer follows shop/api, for good",
  ]);
});
