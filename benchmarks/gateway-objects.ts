// One Gateway and the HTTPRoutes attached to it: each has a host name of its own, leads to the same service and
// writes its version into every answer.
import { type KubeClient, parseJson } from "../src/kube/client/client.ts";
import { isRecord, listAt, recordAt } from "../src/kube/kinds/fields.ts";
import { definitionsPath, gatewayDefinitions } from "../src/lab/gateway-definitions.ts";
import { createMachineService, machineService } from "./machine-service.ts";

export const versionHeader = "x-version";

const group = "gateway.networking.k8s.io";
const api = `/apis/${group}/v1`;
const apiVersion = `${group}/v1`;
const namespace = "routes";
const gatewayName = "edge";
const className = "lockstep";

/** An API server serves new kinds within seconds. */
const servedWithinMs = 30_000;
const pollMs = 50;
/** Its leader writes some dozens a second. */
const statusWithinMs = 600_000;
const statusPollMs = 2_000;
const atOnce = 20;

export async function createGateway(
  client: KubeClient,
  { routes, port }: { readonly routes: number; readonly port: number },
): Promise<void> {
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  for (const one of gatewayDefinitions()) await create(definitionsPath, one);
  for (let waitedMs = 0; !(await areServed(client)); waitedMs += pollMs) {
    if (waitedMs >= servedWithinMs) throw new Error("the kinds of the Gateway API are not served");
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  await createMachineService(client, { namespace, port });
  await create(`${api}/gatewayclasses`, {
    apiVersion,
    kind: "GatewayClass",
    metadata: { name: className },
    spec: { controllerName: "lockstep.dev/gateway" },
  });
  await create(`${api}/namespaces/${namespace}/gateways`, {
    apiVersion,
    kind: "Gateway",
    metadata: { name: gatewayName },
    spec: {
      gatewayClassName: className,
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  });
  for (let first = 0; first < routes; first += atOnce) {
    const count = Math.min(atOnce, routes - first);
    const some = Array.from({ length: count }, (_, at) => routeObject(first + at));
    await Promise.all(some.map((one) => create(`${api}/namespaces/${namespace}/httproutes`, one)));
  }
}

/** Resolves when the status of every route is written, which is work of the start and not of a change. */
export async function untilStatusWritten(client: KubeClient): Promise<void> {
  const path = `${api}/namespaces/${namespace}/httproutes`;
  for (let waitedMs = 0; waitedMs < statusWithinMs; waitedMs += statusPollMs) {
    const list = parseJson(await client.request({ verb: "list", method: "GET", path }));
    const routes = isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
    if (routes.every((one) => listAt(recordAt(one, "status"), "parents").length > 0)) return;
    await new Promise((resolve) => setTimeout(resolve, statusPollMs));
  }
  throw new Error("the status of the routes is not written");
}

export function hostOfRoute(route: number): string {
  return `route-${route}.example`;
}

/** From now on its answers are to have this version. */
export async function changeRoute(
  client: KubeClient,
  { route, version }: { readonly route: number; readonly version: string },
): Promise<void> {
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `${api}/namespaces/${namespace}/httproutes/${routeName(route)}`,
    contentType: "application/merge-patch+json",
    body: { spec: { rules: [ruleOf(version)] } },
  });
}

function routeName(route: number): string {
  return `route-${route}`;
}

function routeObject(route: number): object {
  return {
    apiVersion,
    kind: "HTTPRoute",
    metadata: { name: routeName(route) },
    spec: {
      parentRefs: [{ name: gatewayName }],
      hostnames: [hostOfRoute(route)],
      rules: [ruleOf("first")],
    },
  };
}

function ruleOf(version: string): object {
  const set = [{ name: versionHeader, value: version }];
  return {
    filters: [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set } }],
    backendRefs: [{ name: machineService, port: 80 }],
  };
}

async function areServed(client: KubeClient): Promise<boolean> {
  const path = `${api}/namespaces/default/httproutes`;
  try {
    await client.request({ verb: "list", method: "GET", path });
    return true;
  } catch {
    return false;
  }
}
