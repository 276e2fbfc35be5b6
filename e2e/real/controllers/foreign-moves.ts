// Actions of people and other programs on the controllers' objects, and their own Endpoints for
// services without a selector.
import { randomInt } from "../../../src/environment/random.ts";
import { someTime } from "./pod-moves.ts";
import { chance, type Move, oneOf, type Scene, type Step } from "./scene.ts";

interface Edit {
  readonly what: string;
  readonly body: {
    readonly metadata?: { readonly labels?: object; readonly annotations?: object };
    readonly endpoints?: readonly object[];
    readonly ports?: readonly object[];
    readonly subsets?: readonly object[];
  };
}

const sliceEdits: readonly Edit[] = [
  { what: "no endpoints", body: { endpoints: [] } },
  {
    what: "a stranger's endpoint",
    body: { endpoints: [{ addresses: ["10.201.9.9"], conditions: { ready: true } }] },
  },
  { what: "no ports", body: { ports: [] } },
  { what: "other ports", body: { ports: [{ name: "x", port: 1, protocol: "TCP" }] } },
  { what: "a label more", body: { metadata: { labels: { foreign: "yes" } } } },
  { what: "an annotation more", body: { metadata: { annotations: { foreign: "yes" } } } },
  {
    what: "another keeper",
    body: { metadata: { labels: { "endpointslice.kubernetes.io/managed-by": "somebody" } } },
  },
  {
    what: "no headless label",
    body: { metadata: { labels: { "service.kubernetes.io/headless": null } } },
  },
];

const endpointsEdits: readonly Edit[] = [
  { what: "no subsets", body: { subsets: [] } },
  { what: "a stranger's address", body: { subsets: [{ addresses: [{ ip: "10.201.9.9" }] }] } },
  { what: "a label more", body: { metadata: { labels: { foreign: "yes" } } } },
  { what: "an annotation more", body: { metadata: { annotations: { foreign: "yes" } } } },
  {
    what: "another keeper",
    body: { metadata: { labels: { "endpoints.kubernetes.io/managed-by": "somebody" } } },
  },
  {
    what: "said to be too large",
    body: { metadata: { annotations: { "endpoints.kubernetes.io/over-capacity": "warning" } } },
  },
  {
    what: "not to be mirrored",
    body: { metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } } },
  },
  {
    what: "to be mirrored again",
    body: { metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": null } } },
  },
];

export const foreignMoves: readonly Move[] = [
  { weight: 5, make: editSlice },
  { weight: 2, make: deleteSlice },
  { weight: 4, make: editEndpoints },
  { weight: 2, make: deleteEndpoints },
  { weight: 8, make: writeEndpoints },
];

function editSlice(scene: Scene): Step | undefined {
  const service = kept(scene);
  if (service === undefined) return undefined;
  const { what, body } = oneOf(scene.random, sliceEdits);
  const index = randomInt(scene.random, 4);
  const target = { namespace: scene.namespace, service, index };
  return {
    title: `a slice of ${service}: ${what}`,
    operations: [{ method: "PATCH", target, body: signed(scene, body) }],
  };
}

/**
 * Every edit changes something: whether an edit without a change is a write is tested elsewhere.
 */
function signed(scene: Scene, body: Edit["body"]): object {
  const annotations = { ...body.metadata?.annotations, signed: someTime(scene) };
  return { ...body, metadata: { ...body.metadata, annotations } };
}

function deleteSlice(scene: Scene): Step | undefined {
  const service = kept(scene);
  if (service === undefined) return undefined;
  const target = { namespace: scene.namespace, service, index: randomInt(scene.random, 4) };
  return { title: `a slice of ${service} deleted`, operations: [{ method: "DELETE", target }] };
}

function editEndpoints(scene: Scene): Step | undefined {
  const service = kept(scene);
  if (service === undefined) return undefined;
  const { what, body } = oneOf(scene.random, endpointsEdits);
  return {
    title: `Endpoints ${service}: ${what}`,
    operations: [
      { method: "PATCH", target: endpointsPath(scene, service), body: signed(scene, body) },
    ],
  };
}

function deleteEndpoints(scene: Scene): Step | undefined {
  const name = kept(scene);
  const service = name === undefined ? undefined : scene.services.get(name);
  if (name === undefined || service === undefined) return undefined;
  scene.services.set(name, { ...service, hasOwnEndpoints: false });
  return {
    title: `Endpoints ${name} deleted`,
    operations: [{ method: "DELETE", target: endpointsPath(scene, name) }],
  };
}

/** Creates or replaces them, for a service that selects no pods. */
function writeEndpoints(scene: Scene): Step | undefined {
  const { random, services } = scene;
  const names = [...services].flatMap(([name, { hasSelector }]) => (hasSelector ? [] : [name]));
  if (names.length === 0) return undefined;
  const name = oneOf(random, names);
  const service = services.get(name);
  if (service === undefined) return undefined;
  services.set(name, { ...service, hasOwnEndpoints: true });
  const body = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      name,
      ...(chance(random, 0.4) ? { labels: { of: "people" } } : {}),
      ...(chance(random, 0.3) ? { annotations: { note: someTime(scene) } } : {}),
    },
    subsets: Array.from({ length: randomInt(random, 4) }, () => someSubset(scene, name)),
  };
  return {
    title: `Endpoints ${name} written ${JSON.stringify(body.subsets)}`,
    operations: [{ method: "PUT", target: endpointsPath(scene, name), body }],
  };
}

/**
 * The mirroring controller mixes up the families of slices that it gives new ports, fails and tries
 * again until luck helps it: so a service has addresses of one family, or always the same port.
 */
const families: Readonly<Record<string, readonly ("IPv4" | "IPv6")[]>> = {
  api: ["IPv6"],
  aux: ["IPv4"],
  db: ["IPv4", "IPv6"],
  web: ["IPv4"],
};

function someSubset(scene: Scene, service: string): object {
  const { random } = scene;
  const allowed = families[service] ?? [];
  const http = { name: "http", port: 8080 };
  const ports = [
    ...(chance(random, 0.8) ? [http] : []),
    ...(chance(random, 0.3) ? [{ name: "dns", port: 53, protocol: "UDP" }] : []),
    ...(chance(random, 0.2) ? [{ name: "h2", port: 8443, appProtocol: "https" }] : []),
  ];
  const someone = () => someAddress(scene, oneOf(random, allowed));
  return {
    addresses: Array.from({ length: 1 + randomInt(random, 3) }, someone),
    notReadyAddresses: Array.from({ length: randomInt(random, 2) }, someone),
    ports: allowed.length > 1 ? [http] : ports,
  };
}

function someAddress({ random }: Scene, family: "IPv4" | "IPv6"): object {
  const number = 1 + randomInt(random, 20);
  return {
    ip: family === "IPv4" ? `10.201.8.${number}` : `fd00:201:8::${number}`,
    ...(chance(random, 0.2) ? { hostname: `host-${number}` } : {}),
    ...(chance(random, 0.2) ? { nodeName: "node-a" } : {}),
    ...(chance(random, 0.2)
      ? { targetRef: { kind: "Pod", namespace: "elsewhere", name: `pod-${number}` } }
      : {}),
  };
}

/** A service for which some controller keeps objects. */
function kept({ services, random }: Scene): string | undefined {
  const names = [...services].flatMap(([name, { hasSelector, isExternal, hasOwnEndpoints }]) =>
    (hasSelector && !isExternal) || hasOwnEndpoints ? [name] : [],
  );
  return names.length === 0 ? undefined : oneOf(random, names);
}

function endpointsPath({ namespace }: Scene, name: string): string {
  return `/api/v1/namespaces/${namespace}/endpoints/${name}`;
}
