// The addresses and ports that a service takes from the ranges of the cluster, and the IP families
// of its addresses. Several fields hold the same fact, and a client may set only some of them. The
// cluster has one family, IPv4; another one is refused as a real single-family cluster refuses it.
import { isIp, isIpv6 } from "../../environment/ip-address.ts";
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
import { invalidIpMessage } from "./ip-rules.ts";
import type { AllocationRules, Taking } from "./resource-kind.ts";

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

/** Ports of one number share a node port, also if their protocols differ. */
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

export const headlessIp = "None";

const families = ["IPv4", "IPv6"];
const clusterFamily = "IPv4";
const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"];

function isHeadless(spec: JsonObject): boolean {
  return textAt(spec, "clusterIP") === headlessIp;
}

/**
 * Fills absent fields from the stored service, and one form of an address from the
 * other.
 */
function linkAddresses(service: KubeObject, previous: KubeObject | undefined): void {
  const spec = ensureObject(service, "spec");
  const old = objectAt(previous, "spec");
  if (old === undefined) {
    if (textAt(spec, "clusterIP") !== "" && textsAt(spec, "clusterIPs").length === 0) {
      spec["clusterIPs"] = [spec["clusterIP"]];
    }
    return;
  }
  if (textAt(spec, "type") !== "ExternalName" && textAt(old, "type") !== "ExternalName") {
    keepAddresses(spec, old);
  }
  if (usesNodePorts(spec) && usesNodePorts(old)) {
    keepNodePorts(spec, old);
  }
  if (needsHealthCheck(spec) && needsHealthCheck(old)) {
    spec["healthCheckNodePort"] = spec["healthCheckNodePort"] || old["healthCheckNodePort"];
  }
  alignAddresses(spec, old);
}

/** Decides the families; refuses those that this cluster does not have. */
function initFamilies(service: KubeObject, previous: KubeObject | undefined): void {
  const spec = ensureObject(service, "spec");
  if (textAt(spec, "type") === "ExternalName") {
    return;
  }
  const isFree = isHeadless(spec) && Object.keys(objectAt(spec, "selector") ?? {}).length === 0;
  spec["ipFamilyPolicy"] ??=
    objectAt(previous, "spec")?.["ipFamilyPolicy"] ?? (isFree ? "RequireDualStack" : "SingleStack");
  refuse(service, (errors) => validateAddresses(service, errors));
  refuse(service, (errors) => inferFamilies(spec, errors));
  const asked = textsAt(spec, "ipFamilies");
  if (isFree) {
    const [first = clusterFamily] = asked;
    const both = [first, families.find((family) => family !== first)];
    const isDual = spec["ipFamilyPolicy"] !== "SingleStack" && asked.length < 2;
    spec["ipFamilies"] = isDual ? both : asked.length === 0 ? [first] : asked;
    return;
  }
  refuse(service, (errors) => refuseOtherFamilies(spec, errors));
  if (asked.length === 0) {
    spec["ipFamilies"] = [clusterFamily];
  }
}

/** The rules among address, addresses, families and policy. */
export function validateAddresses(service: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(service, "spec") ?? {};
  if (textAt(spec, "type") === "ExternalName") {
    return;
  }
  const address = textAt(spec, "clusterIP");
  const addresses = textsAt(spec, "clusterIPs");
  if (address !== "" && addresses.length === 0) {
    errors.required("spec.clusterIPs");
  } else if (address !== "" && addresses[0] !== address) {
    errors.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`");
  } else if (address === "" && addresses.length > 0) {
    const detail = "must be empty when `clusterIP` is not specified";
    errors.invalid("spec.clusterIPs", addresses, detail);
  }
  validateFamilies(spec, errors);
  if (areWellFormed(addresses, errors)) {
    validatePairs(addresses, isHeadless(spec) ? [] : textsAt(spec, "ipFamilies"), errors);
  }
}

/** Fields that may not change once a service has an address. */
export function validateAddressChange(
  service: KubeObject,
  current: KubeObject,
  errors: FieldErrors,
): void {
  const spec = objectAt(service, "spec") ?? {};
  const old = objectAt(current, "spec") ?? {};
  if (textAt(spec, "type") === "ExternalName" || textAt(old, "type") === "ExternalName") {
    return;
  }
  const addresses = textsAt(spec, "clusterIPs");
  const before = textsAt(old, "clusterIPs");
  if (!(isHeadless(spec) && isHeadless(old))) {
    if (before.length > 0 && addresses.length === 0) {
      errors.invalid("spec.clusterIPs[0]", null, "primary clusterIP can not be unset");
    } else if (before.length > 0 && before[0] !== addresses[0]) {
      errors.invalid("spec.clusterIPs[0]", addresses, "may not change once set");
    }
  }
  const [family] = textsAt(spec, "ipFamilies");
  if (!isHeadless(spec) && !isHeadless(old) && family !== textsAt(old, "ipFamilies")[0]) {
    errors.invalid("spec.ipFamilies[0]", spec["ipFamilies"] ?? null, "may not change once set");
  }
}

function keepAddresses(spec: JsonObject, old: JsonObject): void {
  if (textAt(spec, "clusterIP") === "" && textAt(old, "clusterIP") !== "") {
    spec["clusterIP"] = old["clusterIP"];
  }
  if (textsAt(spec, "clusterIPs").length === 0 && textsAt(old, "clusterIPs").length > 0) {
    spec["clusterIPs"] = old["clusterIPs"];
  }
}

/** By the ports' names, unless the number is taken by another port of the new spec. */
function keepNodePorts(spec: JsonObject, old: JsonObject): void {
  const used = new Set(nodePortNumbers(spec));
  const known = new Map(objectsAt(old, "ports").map((port) => [textAt(port, "name"), port]));
  for (const port of objectsAt(spec, "ports")) {
    const number = known.get(textAt(port, "name"))?.["nodePort"];
    if (!port["nodePort"] && typeof number === "number" && !used.has(number)) {
      port["nodePort"] = number;
    }
  }
}

/** Old clients know only the one address; the form that was changed decides. */
function alignAddresses(spec: JsonObject, old: JsonObject): void {
  const before = textsAt(old, "clusterIPs");
  const isListKept = textsAt(spec, "clusterIPs").join() === before.join();
  const address = textAt(spec, "clusterIP");
  if (address === textAt(old, "clusterIP") || !isListKept) {
    return;
  }
  if (address === "") {
    delete spec["clusterIPs"];
  } else {
    spec["clusterIPs"] = [address];
  }
}

function inferFamilies(spec: JsonObject, errors: FieldErrors): void {
  const addresses = textsAt(spec, "clusterIPs");
  const known = textsAt(spec, "ipFamilies");
  if (spec["ipFamilyPolicy"] === "SingleStack" && known.length === 2) {
    const detail =
      "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
    errors.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail);
  }
  const [address = headlessIp] = addresses;
  if (address === headlessIp || known.length > 0) {
    return;
  }
  const family = familyOf(address);
  if (family === clusterFamily) {
    spec["ipFamilies"] = [family];
  } else {
    const detail = `${family} is not configured on this cluster`;
    errors.invalid("spec.clusterIPs[0]", addresses, detail);
  }
}

function refuseOtherFamilies(spec: JsonObject, errors: FieldErrors): void {
  if (spec["ipFamilyPolicy"] === "RequireDualStack") {
    const detail = "this cluster is not configured for dual-stack services";
    errors.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail);
  }
  for (const [index, family] of textsAt(spec, "ipFamilies").entries()) {
    if (family !== clusterFamily) {
      errors.invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster");
    }
  }
}

function validateFamilies(spec: JsonObject, errors: FieldErrors): void {
  const seen = new Set<string>();
  for (const [index, family] of textsAt(spec, "ipFamilies").entries()) {
    if (!families.includes(family)) {
      errors.notSupported(`spec.ipFamilies[${index}]`, family, families);
    }
    if (seen.has(family)) {
      errors.duplicate(`spec.ipFamilies[${index}]`, family);
    }
    seen.add(family);
  }
  const policy = spec["ipFamilyPolicy"];
  if (typeof policy === "string" && !familyPolicies.includes(policy)) {
    errors.notSupported("spec.ipFamilyPolicy", policy, familyPolicies);
  }
}

function areWellFormed(addresses: readonly string[], errors: FieldErrors): boolean {
  let allWell = true;
  for (const [index, address] of addresses.entries()) {
    if (index === 0 && address === headlessIp) {
      if (addresses.length > 1) {
        errors.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value");
        allWell = false;
      }
    } else if (!isIp(address)) {
      errors.invalid(`spec.clusterIPs[${index}]`, address, invalidIpMessage);
      allWell = false;
    }
  }
  if (addresses.length > 2) {
    errors.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values");
  }
  return allWell;
}

function validatePairs(
  addresses: readonly string[],
  known: readonly string[],
  errors: FieldErrors,
): void {
  if (addresses.length > 1 && new Set(addresses.map(familyOf)).size < addresses.length) {
    const detail = "may specify no more than one IP for each IP family";
    errors.invalid("spec.clusterIPs", addresses, detail);
  }
  for (const [index, address] of addresses.entries()) {
    const family = known[index];
    if (family !== undefined && families.includes(family) && family !== familyOf(address)) {
      const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
      errors.invalid(`spec.clusterIPs[${index}]`, address, detail);
    }
  }
}

function familyOf(address: string): string {
  return isIpv6(address) ? "IPv6" : "IPv4";
}

function refuse(service: KubeObject, check: (errors: FieldErrors) => void): void {
  const errors = new FieldErrors();
  check(errors);
  errors.throwIfAny({ group: "", kind: "Service" }, service.metadata.name);
}

export function usesNodePorts(spec: JsonObject): boolean {
  const type = textAt(spec, "type");
  return type === "NodePort" || type === "LoadBalancer";
}

/** Load balancers check each node for pods of the service. */
export function needsHealthCheck(spec: JsonObject): boolean {
  return (
    textAt(spec, "type") === "LoadBalancer" && textAt(spec, "externalTrafficPolicy") === "Local"
  );
}

/** Each port's number on the nodes, as far as it has one. */
export function nodePortNumbers(spec: JsonObject): readonly number[] {
  return objectsAt(spec, "ports")
    .map((port) => port["nodePort"])
    .filter((port) => typeof port === "number")
    .filter((port) => port !== 0);
}
