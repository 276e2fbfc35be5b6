// Cluster IPs and node ports. An allocation is a key in the storage, written only if absent, so two
// servers on one storage never give the same address twice. An address leaks if a server dies
// between taking it and storing the service; the ranges are wide enough not to care.
import { type Random, randomInt } from "../../../environment/random.ts";
import { ApiError } from "../api-error.ts";
import { ensureObject, numberAt, objectsAt, textAt } from "../kinds/fields.ts";
import { headlessIp, needsClusterIp, setClusterIp } from "../kinds/service.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Storage } from "../storage/storage.ts";

/** 10.96.0.0/16, the default of kubeadm: 65,534 services. */
const ipPrefix = "10.96";
const ipCount = 2 ** 16;

/** The default node port range of the real server. */
const firstNodePort = 30_000;
const nodePortCount = 2768;

/** Random tries before the range counts as full; at 99 % full this fails once in 10¹³ times. */
const maxTries = 3000;

const ipKeyPrefix = "/registry/ranges/serviceips/";
const nodePortKeyPrefix = "/registry/ranges/servicenodeports/";
const taken = new TextEncoder().encode("{}");

/** What an attempt took, to be given back if the service is not stored after all. */
export interface Allocation {
  readonly service: KubeObject;
  readonly keys: readonly string[];
}

export class ServiceAllocator {
  readonly #storage: Storage;
  readonly #random: Random;

  constructor(options: { storage: Storage; random: Random }) {
    this.#storage = options.storage;
    this.#random = options.random;
  }

  /** Gives the service what it lacks; `previous` is the stored one when this is an update. */
  async allocate(service: KubeObject, previous: KubeObject | undefined): Promise<Allocation> {
    const copy = structuredClone(service);
    const keys: string[] = [];
    try {
      await this.#allocateIp(copy, previous, keys);
      await this.#allocateNodePorts(copy, previous, keys);
    } catch (error) {
      await this.release(keys);
      throw error;
    }
    return { service: copy, keys };
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
    const address = textAt(service, "spec", "clusterIP");
    const ports = objectsAt(service, "spec", "ports").map((port) => numberAt(port, "nodePort"));
    await this.release([
      ...(address === "" || address === headlessIp ? [] : [ipKeyPrefix + address]),
      ...ports.filter((port) => port !== undefined).map((port) => nodePortKeyPrefix + port),
    ]);
  }

  async #allocateIp(
    service: KubeObject,
    previous: KubeObject | undefined,
    keys: string[],
  ): Promise<void> {
    if (needsClusterIp(service)) {
      const offset = await this.#takeFree(ipKeyPrefix, ipAddress, ipCount, keys);
      setClusterIp(service, ipAddress(offset));
      return;
    }
    const address = textAt(service, "spec", "clusterIP");
    const isOurs = address === "" || address === headlessIp;
    if (!isOurs && address !== textAt(previous, "spec", "clusterIP")) {
      await this.#takeAsked(ipKeyPrefix + address, keys, service, {
        field: "spec.clusterIPs",
        value: [address],
        problem: `failed to allocate IP ${address}: provided IP is already allocated`,
      });
    }
  }

  async #allocateNodePorts(
    service: KubeObject,
    previous: KubeObject | undefined,
    keys: string[],
  ): Promise<void> {
    const type = textAt(service, "spec", "type");
    if (type !== "NodePort" && type !== "LoadBalancer") {
      return;
    }
    const held = objectsAt(previous, "spec", "ports").map((port) => numberAt(port, "nodePort"));
    for (const [index, port] of objectsAt(ensureObject(service, "spec"), "ports").entries()) {
      const asked = numberAt(port, "nodePort") ?? 0;
      if (asked === 0) {
        const offset = await this.#takeFree(nodePortKeyPrefix, nodePort, nodePortCount, keys);
        port["nodePort"] = nodePort(offset);
      } else if (!held.includes(asked)) {
        await this.#takeAsked(nodePortKeyPrefix + asked, keys, service, {
          field: `spec.ports[${index}].nodePort`,
          value: asked,
          problem: "provided port is already allocated",
        });
      }
    }
  }

  async #takeFree(
    prefix: string,
    nameOf: (offset: number) => string | number,
    count: number,
    keys: string[],
  ): Promise<number> {
    for (let i = 0; i < maxTries; i++) {
      const offset = 1 + randomInt(this.#random, count - 2);
      const key = `${prefix}${nameOf(offset)}`;
      if ((await this.#storage.put(key, taken, 0)).done) {
        keys.push(key);
        return offset;
      }
    }
    throw new ApiError(
      500,
      "InternalError",
      "Internal error occurred: failed to allocate a serviceIP or nodePort: range is full",
    );
  }

  async #takeAsked(
    key: string,
    keys: string[],
    service: KubeObject,
    refusal: { field: string; value: unknown; problem: string },
  ): Promise<void> {
    if ((await this.#storage.put(key, taken, 0)).done) {
      keys.push(key);
      return;
    }
    const { name } = service.metadata;
    const message = `Invalid value: ${JSON.stringify(refusal.value)}: ${refusal.problem}`;
    throw new ApiError(
      422,
      "Invalid",
      `Service ${JSON.stringify(name)} is invalid: ${refusal.field}: ${message}`,
      {
        name,
        kind: "Service",
        causes: [{ reason: "FieldValueInvalid", message, field: refusal.field }],
      },
    );
  }
}

function ipAddress(offset: number): string {
  return `${ipPrefix}.${Math.floor(offset / 256)}.${offset % 256}`;
}

function nodePort(offset: number): number {
  return firstNodePort + offset;
}
