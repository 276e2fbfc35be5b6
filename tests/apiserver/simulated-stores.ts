// The pod stores of several API servers over one storage, in a world of several machines, which the
// test chooses.
import { Registry } from "prom-client";
import type { KubeObject } from "../../src/apiserver/kube-object.ts";
import { CacheFaults } from "../../src/apiserver/listwatch/cache-faults.ts";
import { ResourceStore } from "../../src/apiserver/listwatch/resource-store.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { Storage } from "../../src/apiserver/storage/storage.ts";
import type { Environment } from "../../src/environment/environment.ts";

export interface SimulatedServer {
  readonly pods: ResourceStore;
  readonly faults: CacheFaults;
  readonly metrics: Registry;
}

/** The part of a simulation that is needed. */
export interface World {
  host(name: string): Environment;
  sleep(ms: number): Promise<void>;
}

export interface SimulatedStores<Simulation extends World> {
  readonly simulation: Simulation;
  readonly storage: Storage;
  /** An API server of its own, with its own cache; already started. */
  readonly server: (name: string) => SimulatedServer;
  /** Raises the storage's revision without touching a pod. */
  readonly writeElsewhere: () => Promise<number>;
  /** Lets everything due now happen. */
  readonly settle: () => Promise<void>;
}

export function openStores<Simulation extends World>(
  simulation: Simulation,
): SimulatedStores<Simulation> {
  const { clock } = simulation.host("storage");
  const storage = new MemoryStorage({ clock });
  let elsewhere = 0;
  return {
    simulation,
    storage,
    server: (name) => openServer(simulation, storage, name),
    writeElsewhere: async () => {
      elsewhere += 1;
      const result = await storage.put(`/registry/leases/${elsewhere}`, new Uint8Array(1), 0);
      if (!result.done) throw new Error("the lease exists already");
      return result.revision;
    },
    settle: () => simulation.sleep(0),
  };
}

/** Already started. */
export function openServer(simulation: World, storage: Storage, name: string): SimulatedServer {
  const { clock, timers, random, log } = simulation.host(name);
  const faults = new CacheFaults();
  const metrics = new Registry();
  const names = { group: "", version: "v1", kind: "Pod", resource: "pods" };
  const options = { ...names, prefix: "/registry/pods/", storage, faults, metrics };
  const pods = new ResourceStore({ ...options, clock, timers, random, log });
  pods.start();
  return { pods, faults, metrics };
}

export function pod(namespace: string, name: string, fields: Partial<PodFields> = {}): KubeObject {
  const { app = "web", note = "" } = fields;
  const metadata = { name, namespace, labels: { app } };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { note } };
}

interface PodFields {
  readonly app: string;
  readonly note: string;
}

/** The label selector `app=…`. */
export function hasApp(app: string): (object: KubeObject) => boolean {
  return (object) => object.metadata.labels?.["app"] === app;
}
