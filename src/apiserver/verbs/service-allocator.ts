// Cluster IPs and node ports. An allocation is a key in the storage, written only if absent, so two
// servers on one storage never give the same address twice. An address leaks if a server dies
// between taking it and storing the service; the ranges are wide enough not to care.
import { type Random, randomInt } from "../../environment/random.ts";
import { ApiError } from "../api-error.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
} from "../kinds/fields.ts";
import { initFamilies, isHeadless, linkAddresses } from "../kinds/service-addresses.ts";
import { needsHealthCheck, nodePortNumbers, usesNodePorts } from "../kinds/service-types.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Storage } from "../storage/storage.ts";

/** 10.96.0.0/16, the default of kubeadm: 65,534 services. */
const ipPrefix = "10.96";
const ipCount = 2 ** 16;

/** The default node port range of the real server. */
const firstNodePort = 30_000;
const nodePortCount = 2768;
const lastNodePort = firstNodePort + nodePortCount - 1;

/** Random tries before the range counts as full; at 99 % full this fails once in 10¹³ times. */
const maxTries = 3000;

const ipKeyPrefix = "/registry/ranges/serviceips/";
const nodePortKeyPrefix = "/registry/ranges/servicenodeports/";
const taken = new TextEncoder().encode("{}");

export interface AllocationRequest {
  readonly service: KubeObject;
  /** The stored one when this is an update. */
  readonly previous: KubeObject | undefined;
  /** Nothing is taken; the numbers are made up as a real server makes them up. */
  readonly dryRun: boolean;
}

export interface Allocation {
  /** A copy with everything the service needs. */
  readonly service: KubeObject;
  /** What was taken, to be given back if the service is not stored after all. */
  readonly keys: readonly string[];
  /** What the stored service held and this one does not, to be given back once it is stored. */
  readonly released: readonly string[];
}

export class ServiceAllocator {
  readonly #storage: Storage;
  readonly #random: Random;

  constructor(options: { storage: Storage; random: Random }) {
    this.#storage = options.storage;
    this.#random = options.random;
  }

  /** Gives the service what it lacks, or refuses with what cannot be had. */
  async allocate({ service, previous, dryRun }: AllocationRequest): Promise<Allocation> {
    const copy = structuredClone(service);
    const spec = ensureObject(copy, "spec");
    const old = objectAt(previous, "spec");
    linkAddresses(copy, previous);
    initFamilies(copy, previous);
    const taking = new Taking(this.#storage, this.#random, dryRun);
    try {
      if (old === undefined || textAt(old, "type") === "ExternalName") {
        await allocateIp(copy, spec, taking);
      }
      await allocateNodePorts(copy, spec, old, taking);
      await allocateHealthPort(spec, old, taking);
    } catch (error) {
      await this.release(taking.keys);
      throw error;
    }
    const released = dryRun || old === undefined ? [] : keysOf(old);
    const held = keysOf(spec);
    return {
      service: copy,
      keys: taking.keys,
      released: released.filter((key) => !held.includes(key)),
    };
  }

  async release(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const { record } = await this.#storage.get(key);
      if (record !== undefined) {
        await this.#storage.delete(key, record.revision);
      }
    }
  }

  /** Gives back what a removed service held. */
  async releaseAll(service: KubeObject): Promise<void> {
    await this.release(keysOf(objectAt(service, "spec") ?? {}));
  }
}

/** What a dry run says a port is: beyond the range, so that nobody mistakes it for one. */
const firstDryRunPort = 32_769;

/** The keys that one allocation takes. */
class Taking {
  readonly keys: string[] = [];
  readonly #storage: Storage;
  readonly #random: Random;
  readonly #dryRun: boolean;
  #dryRunPorts = 0;

  constructor(storage: Storage, random: Random, dryRun: boolean) {
    this.#storage = storage;
    this.#random = random;
    this.#dryRun = dryRun;
  }

  async freeIp(): Promise<string> {
    return await this.#free(ipKeyPrefix, ipAddress, ipCount, "serviceIP");
  }

  async freePort(): Promise<number> {
    if (this.#dryRun) {
      return firstDryRunPort + this.#dryRunPorts++;
    }
    const range = nodePortCount;
    return await this.#free(
      nodePortKeyPrefix,
      (offset) => firstNodePort + offset,
      range,
      "nodePort",
    );
  }

  /** False if another service holds it. */
  async asked(key: string): Promise<boolean> {
    if (this.#dryRun) {
      return (await this.#storage.get(key)).record === undefined;
    }
    const { done } = await this.#storage.put(key, taken, 0);
    if (done) {
      this.keys.push(key);
    }
    return done;
  }

  async #free<Name extends string | number>(
    prefix: string,
    nameOf: (offset: number) => Name,
    count: number,
    what: string,
  ): Promise<Name> {
    for (let i = 0; i < maxTries; i++) {
      const name = nameOf(1 + randomInt(this.#random, count - 2));
      if (await this.asked(`${prefix}${name}`)) {
        return name;
      }
    }
    throw new ApiError(
      500,
      "InternalError",
      `Internal error occurred: failed to allocate a ${what}: range is full`,
    );
  }
}

async function allocateIp(service: KubeObject, spec: JsonObject, taking: Taking): Promise<void> {
  if (textAt(spec, "type") === "ExternalName" || isHeadless(spec)) {
    return;
  }
  const addresses = textsAt(spec, "clusterIPs");
  const [asked] = addresses;
  if (asked === undefined) {
    const address = await taking.freeIp();
    spec["clusterIP"] = address;
    spec["clusterIPs"] = [address];
    return;
  }
  const problem = !asked.startsWith(`${ipPrefix}.`)
    ? "the provided network does not match the current range"
    : (await taking.asked(ipKeyPrefix + asked))
      ? undefined
      : "provided IP is already allocated";
  if (problem !== undefined) {
    const detail = `failed to allocate IP ${asked}: ${problem}`;
    throw refused(service, "spec.clusterIPs", addresses, detail);
  }
}

/** Ports of one number share a port on the nodes, whatever their protocols. */
async function allocateNodePorts(
  service: KubeObject,
  spec: JsonObject,
  old: JsonObject | undefined,
  taking: Taking,
): Promise<void> {
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
      port["nodePort"] = await taking.freePort();
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

/** What a later port of the same number asks for, which this one then shares; 0 for none. */
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
  if (!(await taking.asked(nodePortKeyPrefix + port))) {
    throw refused(service, field, port, "provided port is already allocated");
  }
}

async function allocateHealthPort(
  spec: JsonObject,
  old: JsonObject | undefined,
  taking: Taking,
): Promise<void> {
  if (!needsHealthCheck(spec) || (old !== undefined && needsHealthCheck(old))) {
    return;
  }
  const asked = numberAt(spec, "healthCheckNodePort") ?? 0;
  if (asked === 0) {
    spec["healthCheckNodePort"] = await taking.freePort();
  } else if (!(await taking.asked(nodePortKeyPrefix + asked))) {
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
