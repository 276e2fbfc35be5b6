// Moves of services in a random history: all sorts of them come, change and go.
import { randomInt } from "../../../src/environment/random.ts";
import { chance, type Move, oneOf, type Scene, type SceneService, type Step } from "./scene.ts";

const names = ["api", "aux", "db", "web"];

/** Those of no pod among them, and one that the server keeps as none. */
const selectors: readonly object[] = [
  { app: "a" },
  { app: "a" },
  { app: "b" },
  { app: "a", tier: "x" },
  { tier: "y" },
  { app: "nobody" },
  {},
];

interface Port {
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
  readonly appProtocol?: string;
}

const ports: readonly Port[] = [
  { port: 80 },
  { port: 80, targetPort: 8080 },
  { port: 80, targetPort: "http" },
  { port: 80, targetPort: "http", appProtocol: "kubernetes.io/h2c" },
  { port: 53, protocol: "UDP", targetPort: "dns" },
  { port: 53, protocol: "TCP", targetPort: "dns" },
  { port: 443, targetPort: "side" },
  { port: 9999, targetPort: "unknown" },
];

const headlessLabel = "service.kubernetes.io/headless";
const managedByLabel = "endpoints.kubernetes.io/managed-by";

/** Some are the controllers' own, and mean nothing on a service. */
const labels: readonly Readonly<Record<string, string>>[] = [
  {},
  { team: "blue" },
  { team: "green", "app.kubernetes.io/name": "shop" },
  { empty: "" },
  { [headlessLabel]: "" },
  { [managedByLabel]: "somebody" },
];

const topologyMode = "service.kubernetes.io/topology-mode";
const topologyModes = ["Auto", "Auto", "auto", "Disabled", null];

const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export const serviceMoves: readonly Move[] = [
  { weight: 18, make: create },
  { weight: 3, make: remove },
  { weight: 3, make: relabel },
  {
    weight: 2,
    make: (scene) =>
      patch(scene, "annotations", () => ({ metadata: { annotations: { n: next(scene) } } })),
  },
  {
    weight: 4,
    make: (scene) =>
      patch(scene, "selector", () => ({ spec: { selector: reselected(scene) } }), {
        hasSelector: true,
      }),
  },
  {
    weight: 2,
    make: (scene) =>
      patch(scene, "no selector", () => ({ spec: { selector: null } }), { hasSelector: false }),
  },
  {
    weight: 3,
    make: (scene) => patch(scene, "ports", () => ({ spec: { ports: somePorts(scene) } })),
  },
  {
    weight: 3,
    make: (scene) =>
      patch(scene, "publishNotReadyAddresses", () => ({
        spec: { publishNotReadyAddresses: chance(scene.random, 0.5) },
      })),
  },
  {
    weight: 3,
    make: (scene) =>
      patch(scene, "trafficDistribution", () => ({
        spec: { trafficDistribution: oneOf(scene.random, [null, ...distributions]) },
      })),
  },
  {
    weight: 4,
    make: (scene) =>
      scene.hasTopology
        ? patch(scene, "topology", () => ({
            metadata: { annotations: { [topologyMode]: oneOf(scene.random, topologyModes) } },
          }))
        : undefined,
  },
  { weight: 1, make: toExternal },
];

export function servicePath(scene: Scene, name: string): string {
  return `/api/v1/namespaces/${scene.namespace}/services/${name}`;
}

function create(scene: Scene): Step | undefined {
  const { namespace, random, services } = scene;
  const name = oneOf(random, names);
  if (services.has(name)) return undefined;
  const isHeadless = chance(random, 0.35);
  const isExternal = !isHeadless && chance(random, 0.05);
  const hasSelector = chance(random, 0.8);
  const chosen = someLabels(scene);
  services.set(name, {
    hasSelector,
    isHeadless,
    isExternal,
    hasOwnEndpoints: false,
  });
  const spec = {
    ...(isExternal ? { type: "ExternalName", externalName: "elsewhere.example" } : {}),
    ...(isHeadless ? { clusterIP: "None", ...(hasSelector ? {} : someFamilies(scene)) } : {}),
    ...(hasSelector ? { selector: oneOf(random, selectors) } : {}),
    ...(isHeadless && chance(random, 0.2) ? {} : { ports: somePorts(scene) }),
    ...(chance(random, 0.2) ? { publishNotReadyAddresses: true } : {}),
    ...(chance(random, 0.2) ? { trafficDistribution: oneOf(random, distributions) } : {}),
  };
  const metadata = {
    name,
    labels: chosen,
    ...(scene.hasTopology && chance(random, 0.3)
      ? { annotations: { [topologyMode]: "Auto" } }
      : {}),
  };
  return {
    title: `service ${name} ${JSON.stringify({ ...metadata, ...spec })}`,
    operations: [
      {
        method: "POST",
        target: `/api/v1/namespaces/${namespace}/services`,
        body: { apiVersion: "v1", kind: "Service", metadata, spec },
      },
    ],
  };
}

function remove(scene: Scene): Step | undefined {
  const name = existing(scene);
  if (name === undefined) return undefined;
  scene.services.delete(name);
  return {
    title: `service ${name} deleted`,
    operations: [{ method: "DELETE", target: servicePath(scene, name) }],
    // The server deletes its Endpoints; the first controller that sees this makes them again before
    // they go.
    isCounted: false,
  };
}

/** A service that leaves the cluster's addresses, with or without its selector. */
function toExternal(scene: Scene): Step | undefined {
  const name = existing(scene);
  const service = name === undefined ? undefined : scene.services.get(name);
  if (name === undefined || service === undefined || service.isHeadless) return undefined;
  scene.services.set(name, { ...service, isExternal: !service.isExternal });
  const spec = service.isExternal
    ? { type: "ClusterIP", externalName: null, ports: somePorts(scene) }
    : {
        type: "ExternalName",
        externalName: "elsewhere.example",
        clusterIP: null,
        clusterIPs: null,
      };
  return {
    title: `service ${name} becomes ${spec.type}`,
    operations: [{ method: "PATCH", target: servicePath(scene, name), body: { spec } }],
  };
}

function patch(
  scene: Scene,
  what: string,
  bodyOf: () => object,
  change: Partial<SceneService> = {},
): Step | undefined {
  const name = existing(scene);
  const service = name === undefined ? undefined : scene.services.get(name);
  if (name === undefined || service === undefined) return undefined;
  const body = bodyOf();
  scene.services.set(name, { ...service, ...change });
  return {
    title: `service ${name}, ${what}: ${JSON.stringify(body)}`,
    operations: [{ method: "PATCH", target: servicePath(scene, name), body }],
  };
}

/** Labels are merged: those that are not wanted any more are named too. */
function relabel(scene: Scene): Step | undefined {
  const chosen = someLabels(scene);
  const all = labels.flatMap((one) => Object.keys(one));
  const none = Object.fromEntries(all.map((label) => [label, null]));
  const body = { metadata: { labels: { ...none, ...chosen } } };
  return patch(scene, "labels", () => body);
}

function someLabels({ random, allowsAlwaysWritten }: Scene): Readonly<Record<string, string>> {
  return oneOf(random, allowsAlwaysWritten ? labels : labels.filter((one) => !isNeverRight(one)));
}

/** No Endpoints object can have them right, so that each sync writes them. */
function isNeverRight(chosen: Readonly<Record<string, string>>): boolean {
  return headlessLabel in chosen || managedByLabel in chosen;
}

/** So are selectors; to be patched to nothing at all is another move. */
function reselected({ random }: Scene): object {
  const chosen = oneOf(random, selectors);
  return Object.keys(chosen).length === 0 ? chosen : { app: null, tier: null, ...chosen };
}

/** Pods that have named ports or lack them need slices of their own, and share hints by chance. */
function somePorts({ random, hasTopology }: Scene): readonly object[] {
  const allowed = ports.filter(({ targetPort }) => typeof targetPort !== "string" || !hasTopology);
  const count = 1 + randomInt(random, 3);
  const chosen = new Map<string, Port>();
  for (let index = 0; index < count; index += 1) {
    const port = oneOf(random, allowed);
    chosen.set(`${port.port}/${port.protocol ?? "TCP"}`, port);
  }
  const list = [...chosen.values()];
  return list.length === 1 ? list : list.map((port, index) => ({ name: `p${index}`, ...port }));
}

function someFamilies({ random }: Scene): object {
  return oneOf<object>(random, [
    {},
    {},
    { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
    { ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "RequireDualStack" },
    { ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" },
  ]);
}

function existing({ services, random }: Scene): string | undefined {
  return services.size === 0 ? undefined : oneOf(random, [...services.keys()]);
}

function next(scene: Scene): string {
  scene.counter += 1;
  return String(scene.counter);
}
