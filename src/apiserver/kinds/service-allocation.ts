// Cluster IPs and node ports: what a service holds of the cluster's ranges, and how it gets it.
import { ApiError } from "../api-error.ts";
import type { KubeObject } from "../kube-object.ts";
import { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
} from "./fields.ts";
import type { AllocationRules, Taking } from "./resource-kind.ts";
import { initFamilies, isHeadless, linkAddresses } from "./service-addresses.ts";
import { needsHealthCheck, nodePortNumbers, usesNodePorts } from "./service-types.ts";

/** 10.96.0.0/16, the default of kubeadm: 65,534 services. */
const ipPrefix = "10.96";
const ipCount = 2 ** 16;

/** The default node port range of the real server. */
const firstNodePort = 30_000;
const nodePortCount = 2768;
const lastNodePort = firstNodePort + nodePortCount - 1;

const ipKeyPrefix = "/registry/ranges/serviceips/";
const nodePortKeyPrefix = "/registry/ranges/servicenodeports/";

/** Ports shown by a dry run lie beyond the range, so that no client takes one for a real port. */
const firstDryRunPort = 32_769;

export const serviceAllocation: AllocationRules = {
  async allocate(service, previous, taking) {
    const spec = ensureObject(service, "spec");
    const old = objectAt(previous, "spec");
    linkAddresses(service, previous);
    initFamilies(service, previous);
    if (old === undefined || textAt(old, "type") === "ExternalName") {
      await allocateIp(service, spec, taking);
    }
    const freePort = portSource(taking);
    await allocateNodePorts({ service, spec, old, taking, freePort });
    await allocateHealthPort({ service, spec, old, taking, freePort });
  },
  heldKeys: (service) => keysOf(objectAt(service, "spec") ?? {}),
};

interface PortRequest {
  readonly service: KubeObject;
  readonly spec: JsonObject;
  /** The stored spec when this is an update. */
  readonly old: JsonObject | undefined;
  readonly taking: Taking;
  readonly freePort: () => Promise<number>;
}

function portSource(taking: Taking): () => Promise<number> {
  let shown = 0;
  const range = {
    prefix: nodePortKeyPrefix,
    count: nodePortCount,
    nameOf: (offset: number) => firstNodePort + offset,
    what: "nodePort",
  };
  return async () => (taking.dryRun ? firstDryRunPort + shown++ : await taking.takeAny(range));
}

async function allocateIp(service: KubeObject, spec: JsonObject, taking: Taking): Promise<void> {
  if (textAt(spec, "type") === "ExternalName" || isHeadless(spec)) {
    return;
  }
  const addresses = textsAt(spec, "clusterIPs");
  const [asked] = addresses;
  if (asked === undefined) {
    const range = { prefix: ipKeyPrefix, count: ipCount, nameOf: ipAddress, what: "serviceIP" };
    const address = await taking.takeAny(range);
    spec["clusterIP"] = address;
    spec["clusterIPs"] = [address];
    return;
  }
  const problem = !asked.startsWith(`${ipPrefix}.`)
    ? "the provided network does not match the current range"
    : (await taking.take(ipKeyPrefix + asked))
      ? undefined
      : "provided IP is already allocated";
  if (problem !== undefined) {
    const detail = `failed to allocate IP ${asked}: ${problem}`;
    throw refused(service, "spec.clusterIPs", addresses, detail);
  }
}

/** Ports of one number share a port on the nodes, whatever their protocols. */
async function allocateNodePorts(request: PortRequest): Promise<void> {
  const { service, spec, old, taking } = request;
  if (!usesNodePorts(spec)) {
    return;
  }
  const held = new Set(nodePortNumbers(old ?? {}));
  const byPort = new Map<unknown, number>();
  const ports = objectsAt(spec, "ports");
  for (const [index, port] of ports.entries()) {
    const shared = old === undefined ? byPort.get(port["port"]) : undefined;
    const requested = numberAt(port, "nodePort") || (shared ?? askedFor(port, ports, old));
    if (requested === 0 && spec["allocateLoadBalancerNodePorts"] === false) {
      continue;
    }
    if (requested === 0) {
      port["nodePort"] = await request.freePort();
    } else {
      port["nodePort"] = requested;
      if (requested !== shared && !held.has(requested)) {
        await takePort(service, `spec.ports[${index}].nodePort`, requested, taking);
      }
    }
    const number = numberAt(port, "nodePort") ?? 0;
    held.add(number);
    byPort.set(port["port"], byPort.get(port["port"]) ?? number);
  }
}

/** The node port that a later port of the same number asks for; both share it. 0 for none. */
function askedFor(
  port: JsonObject,
  ports: readonly JsonObject[],
  old: JsonObject | undefined,
): number {
  const same = ports.find((one) => one["port"] === port["port"] && numberAt(one, "nodePort"));
  return old === undefined ? (numberAt(same, "nodePort") ?? 0) : 0;
}

async function takePort(
  service: KubeObject,
  field: string,
  port: number,
  taking: Taking,
): Promise<void> {
  if (port < firstNodePort || port > lastNodePort) {
    const range = `The range of valid ports is ${firstNodePort}-${lastNodePort}`;
    throw refused(service, field, port, `provided port is not in the valid range. ${range}`);
  }
  if (!(await taking.take(nodePortKeyPrefix + port))) {
    throw refused(service, field, port, "provided port is already allocated");
  }
}

async function allocateHealthPort(request: PortRequest): Promise<void> {
  const { spec, old, taking, freePort } = request;
  if (!needsHealthCheck(spec) || (old !== undefined && needsHealthCheck(old))) {
    return;
  }
  const asked = numberAt(spec, "healthCheckNodePort") ?? 0;
  if (asked === 0) {
    spec["healthCheckNodePort"] = await freePort();
  } else if (!(await taking.take(nodePortKeyPrefix + asked))) {
    throw new ApiError(
      500,
      "InternalError",
      "Internal error occurred: failed to allocate requested HealthCheck NodePort " +
        `${asked}: provided port is already allocated`,
    );
  }
}

/** Everything a service holds. */
function keysOf(spec: JsonObject): readonly string[] {
  const addresses = isHeadless(spec) ? [] : textsAt(spec, "clusterIPs");
  const health = needsHealthCheck(spec) ? (numberAt(spec, "healthCheckNodePort") ?? 0) : 0;
  const ports = [...nodePortNumbers(spec), ...(health === 0 ? [] : [health])];
  return [
    ...addresses.map((address) => ipKeyPrefix + address),
    ...[...new Set(ports)].map((port) => nodePortKeyPrefix + port),
  ];
}

function refused(service: KubeObject, field: string, value: unknown, detail: string): ApiError {
  const errors = new FieldErrors();
  errors.invalid(field, value, detail);
  return errors.toError({ group: "", kind: "Service" }, service.metadata.name);
}

function ipAddress(offset: number): string {
  return `${ipPrefix}.${Math.floor(offset / 256)}.${offset % 256}`;
}
