// The reflector against real API servers that are killed, an etcd that is killed and compacted, and
// writers that do not wait: at the end its store equals the server, and its handlers got a
// consistent sequence of changes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { parseJson, StatusError } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type EndpointSlice, endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { Reflector } from "../../src/kube/reflector/reflector.ts";
import type { Change } from "../../src/kube/store/store-change.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const { clock, timers, random } = environment;
const collection = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const deadlineMs = 5_000;
const longestWaitMs = 120_000;
const names = Array.from({ length: 60 }, (_, index) => `slice-${index}`);

let plane: RealControlPlane;
beforeAll(async () => {
  plane = await startRealControlPlane({ apiServers: 2 });
});
afterAll(async () => {
  await plane?.stop();
});

describe.each(["watchlist", "pages"] as const)("a reflector that lists by %s", (initialList) => {
  it("ends with what the server has, after servers and etcd were killed and compacted", async () => {
    const delivered = new DeliveredChanges();
    const reflector = new Reflector({
      ...environment,
      client: clientTo(0),
      cluster: "real",
      kind: endpointSliceKind,
      namespace: "default",
      initialList,
      indexes: {},
      handlers: [(change) => delivered.note(change)],
    });
    const writing = new AbortController();
    const writers = [writeRandomly(0, writing.signal), writeRandomly(1, writing.signal)];
    try {
      reflector.start();
      await reflector.waitForSync();
      await timers.sleep(2_000);
      await killAndRestart(plane.servers[0]?.process);
      await timers.sleep(3_000);
      await killAndRestart(plane.etcd);
      await timers.sleep(3_000);
      await compact();
      await killAndRestart(plane.servers[0]?.process);
      await timers.sleep(2_000);
    } finally {
      writing.abort();
      await Promise.all(writers);
    }
    try {
      await until("the store is what the server has", async () => {
        const stored = new Map([...reflector.store].map(nameAndVersion));
        return sameEntries(stored, await listed());
      });
      expect(delivered.contradictions).toEqual([]);
      expect(delivered.shown).toEqual(new Map([...reflector.store].map(nameAndVersion)));
      expect(delivered.changes).toBeGreaterThan(names.length);
    } finally {
      await reflector.stop();
    }
  });
});

/** The deliveries to the handlers, checked step by step. */
class DeliveredChanges {
  readonly contradictions: string[] = [];
  /** By name, the version of the last delivery. */
  readonly shown = new Map<string, string>();
  changes = 0;

  note(change: Change<EndpointSlice>): void {
    const [name, version] = nameAndVersion(change.object);
    const isKnown = this.shown.has(name);
    this.changes += 1;
    if ((change.type === "added") === isKnown) {
      this.contradictions.push(`${change.type} ${name}, which was ${isKnown ? "" : "not "}there`);
    }
    if (change.type === "deleted") this.shown.delete(name);
    else this.shown.set(name, version);
  }
}

function nameAndVersion({ metadata }: EndpointSlice): readonly [name: string, version: string] {
  return [metadata.name, metadata.resourceVersion];
}

/** Creates, changes and deletes until it is aborted; failures are part of the trial. */
async function writeRandomly(server: number, signal: AbortSignal): Promise<void> {
  const client = clientTo(server);
  while (!signal.aborted) {
    const name = names[Math.floor(random.next() * names.length)] ?? "";
    await writeOnce(client, name, random.next()).catch(() => timers.sleep(50));
  }
}

async function writeOnce(client: HttpKubeClient, name: string, chance: number): Promise<void> {
  const path = `${collection}/${name}`;
  if (chance < 0.2) {
    await client.request({ verb: "delete", method: "DELETE", path, deadlineMs });
    return;
  }
  const body = sliceNamed(name, Math.floor(chance * 250) + 1);
  try {
    await client.request({ verb: "update", method: "PUT", path, body, deadlineMs });
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 404) throw error;
    await client.request({ verb: "create", method: "POST", path: collection, body, deadlineMs });
  }
}

function sliceNamed(name: string, octet: number): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name },
    addressType: "IPv4",
    endpoints: [{ addresses: [`10.201.7.${octet}`] }],
    ports: [{ port: 80 }],
  };
}

/** From etcd itself, through the other server. */
async function listed(): Promise<ReadonlyMap<string, string>> {
  const request = { verb: "list", method: "GET", path: collection, deadlineMs } as const;
  const list = parseJson(await clientTo(1).request(request)) as {
    readonly items: readonly { metadata: { name: string; resourceVersion: string } }[];
  };
  return new Map(list.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

async function compact(): Promise<void> {
  const ask = async (path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${plane.etcdUrl}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return await answer.json();
  };
  const status = (await ask("/v3/maintenance/status", {})) as { header: { revision: string } };
  await ask("/v3/kv/compaction", { revision: status.header.revision });
}

async function killAndRestart(
  process: { kill(): void; readonly isRunning: boolean; restart(): void } | undefined,
): Promise<void> {
  process?.kill();
  await until("the process is gone", () => process?.isRunning === false);
  process?.restart();
}

function clientTo(server: number): HttpKubeClient {
  const { url = "", ca = "" } = plane.servers[server] ?? {};
  const cluster = fixedAccess({ name: "real", server: url, token: plane.token, tls: { ca } });
  return new HttpKubeClient({ ...environment, cluster, userAgent: `e2e-${server}` });
}

function sameEntries(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const beganAt = clock.monotonicMs();
  while (!(await Promise.resolve(holds()).catch(() => false))) {
    if (clock.monotonicMs() - beganAt > longestWaitMs) throw new Error(`waited in vain: ${what}`);
    await timers.sleep(100);
  }
}
