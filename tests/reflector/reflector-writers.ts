// The other writers in a cluster. They create, change, relabel, delete and recreate objects under
// few names, now and then many at once. They write directly to the storage, as other API servers
// would. Objects called `stays-…` exist from the beginning and are never deleted.

import { endpointSliceKind } from "../../src/apiserver/kinds/endpoint-slice.ts";
import { nodeKind } from "../../src/apiserver/kinds/node.ts";
import { podKind } from "../../src/apiserver/kinds/pod.ts";
import type { KubeObject } from "../../src/apiserver/kube-object.ts";
import { decodeRecord, encodeForStorage } from "../../src/apiserver/listwatch/encoded-object.ts";
import { storageKeyOf } from "../../src/apiserver/listwatch/resource-names.ts";
import type { Storage } from "../../src/apiserver/storage/storage.ts";
import { toTime } from "../../src/environment/clock.ts";
import type { Environment } from "../../src/environment/environment.ts";
import { randomBetween, randomInt } from "../../src/environment/random.ts";
import { pick } from "./reflector-pick.ts";

export const writtenNamespaces: readonly string[] = ["shop", "pay"];
export const stayingPrefix = "stays-";
/** Where `app` is one of these; the staying objects are always the first. */
export const appLabels: readonly [string, ...string[]] = ["web", "db"];

const writtenKinds = [podKind, endpointSliceKind, nodeKind] as const;
export type WrittenKind = (typeof writtenKinds)[number];

/**
 * How often each is written: pods most, nodes seldom, and sometimes a kind that no test watches.
 */
const targets: readonly (WrittenKind | "elsewhere")[] = [
  podKind,
  podKind,
  podKind,
  podKind,
  endpointSliceKind,
  endpointSliceKind,
  nodeKind,
  "elsewhere",
];

/** Few, so that names come back after a deletion. */
const changingNames = 4;
const stayingNames = 2;
/** More than the hundred changes an API server always remembers. */
const burstWrites = 130;
const burstOneIn = 400;

export interface WritersOptions {
  readonly environment: Environment;
  readonly storage: Storage;
  readonly meanBetweenMs: number;
}

export class Writers {
  readonly #options: WritersOptions;
  readonly #stopping = new AbortController();
  #elsewhere = 0;
  #running: Promise<void> | undefined;

  constructor(options: WritersOptions) {
    this.#options = options;
  }

  /** Writes what is there from the beginning, then goes on until `stop`. */
  async start(): Promise<void> {
    for (const kind of writtenKinds) {
      for (const namespace of kind.namespaced ? writtenNamespaces : [undefined]) {
        for (let index = 0; index < stayingNames; index += 1) {
          await this.#put(kind, this.#object(kind, namespace, `${stayingPrefix}${index}`));
        }
      }
    }
    this.#running = this.#run();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { environment, meanBetweenMs } = this.#options;
    const { random, timers } = environment;
    while (!this.#stopping.signal.aborted) {
      const delayMs = randomBetween(random, 0, 2 * meanBetweenMs);
      // The loop's own condition sees the abort.
      await timers.sleep(delayMs, this.#stopping.signal).catch(() => undefined);
      const writes = randomInt(random, burstOneIn) === 0 ? burstWrites : 1;
      for (let written = 0; written < writes && !this.#stopping.signal.aborted; written += 1) {
        await this.#writeSomething();
      }
    }
  }

  async #writeSomething(): Promise<void> {
    const { storage, environment } = this.#options;
    const { random } = environment;
    const kind = pick(random, targets);
    if (kind === "elsewhere") {
      this.#elsewhere += 1;
      await storage.put(`/registry/elsewhere/${this.#elsewhere}`, new Uint8Array(1), 0);
      return;
    }
    const namespace = kind.namespaced ? pick(random, writtenNamespaces) : undefined;
    const index = randomInt(random, changingNames + stayingNames);
    if (index < stayingNames) {
      await this.#put(kind, this.#object(kind, namespace, `${stayingPrefix}${index}`));
      return;
    }
    const object = this.#object(kind, namespace, `changes-${index}`, pick(random, appLabels));
    const action = pick(random, ["put", "put", "put", "delete", "recreate"]);
    if (action !== "put") {
      await this.#delete(kind, object);
    }
    if (action !== "delete") {
      await this.#put(kind, object);
    }
  }

  /** Creates the object, or gives it a new version; the object stays the same. */
  async #put(kind: WrittenKind, desired: KubeObject): Promise<void> {
    const { storage } = this.#options;
    const key = storageKeyOf(kind, desired);
    const { record } = await storage.get(key);
    const uid = record && decodeRecord(record).object.metadata.uid;
    const metadata = { ...desired.metadata, ...(uid === undefined ? {} : { uid }) };
    await storage.put(key, encodeForStorage({ ...desired, metadata }), record?.revision ?? 0);
  }

  async #delete(kind: WrittenKind, object: KubeObject): Promise<void> {
    const { storage } = this.#options;
    const key = storageKeyOf(kind, object);
    const { record } = await storage.get(key);
    if (record !== undefined) {
      await storage.delete(key, record.revision);
    }
  }

  #object(
    kind: WrittenKind,
    namespace: string | undefined,
    name: string,
    app = appLabels[0],
  ): KubeObject {
    const { random, clock } = this.#options.environment;
    const address = `10.0.0.${1 + randomInt(random, 250)}`;
    return {
      kind: kind.kind,
      apiVersion: kind.group === "" ? kind.version : `${kind.group}/${kind.version}`,
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: random.uuid(),
        creationTimestamp: toTime(clock.wallMs()),
        labels: { app },
      },
      ...contentOf(kind, address),
    };
  }
}

function contentOf(kind: WrittenKind, address: string): object {
  switch (kind) {
    case podKind:
      return {
        spec: { nodeName: `node-${address}`, containers: [{ name: "c", image: "nginx:1" }] },
        status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
      };
    case endpointSliceKind:
      return {
        addressType: "IPv4",
        endpoints: [{ addresses: [address] }],
        ports: [{ port: 80, protocol: "TCP" }],
      };
    default:
      return { status: { addresses: [{ type: "InternalIP", address }] } };
  }
}
