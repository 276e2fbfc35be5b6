// One control plane that plays histories: the real one or the lab's. Both are driven by the same
// requests, and both are asked what there is only once they are quiet.
import type { Environment } from "../../../src/environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../../src/kube/client/client.ts";
import { isRecord, listAt, recordAt } from "../../../src/kube/kinds/fields.ts";
import { objectRecord } from "../../../src/kube/kinds/metadata.ts";
import { Reflector } from "../../../src/kube/reflector/reflector.ts";
import { noChecks } from "../../../src/kube/reflector/reflector-parts.ts";
import type { ControllerFlags } from "../../../src/lab/controllers/flags.ts";
import {
  type WholeKind,
  type WholeObject,
  wholeEndpoints,
  wholeSlices,
} from "../../../src/lab/controllers/whole-object.ts";
import { nodes, type Operation, type SliceChoice } from "./scene.ts";

export interface Side {
  readonly client: KubeClient;
  readonly environment: Pick<Environment, "clock" | "timers" | "random" | "log">;
  /** Resolves when the controllers have nothing left to do. */
  readonly settle: (witness: Witness) => Promise<void>;
  /** Ends the controllers and restarts them, with other flags if given. */
  readonly restart: (flags?: Partial<ControllerFlags>) => Promise<void>;
}

export const slicesPath = "/apis/discovery.k8s.io/v1/endpointslices";

/** How many events of an object's kind a namespace has seen. */
export class Witness {
  readonly #reflectors: readonly Reflector<WholeObject>[];
  readonly #side: Pick<Side, "client" | "environment">;
  #counts = new Map<string, number>();
  /** When the last event came, by the side's own clock. */
  lastAt: number;

  constructor(side: Pick<Side, "client" | "environment">) {
    this.#side = side;
    this.lastAt = side.environment.clock.monotonicMs();
    this.#reflectors = [wholeEndpoints, wholeSlices].map((kind) => this.#reflector(kind));
  }

  async start(): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start();
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForSync()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** Since the last call: by namespace and kind. */
  take(): ReadonlyMap<string, number> {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  #reflector(kind: WholeKind): Reflector<WholeObject> {
    const { client, environment } = this.#side;
    return new Reflector<WholeObject>({
      ...environment,
      client,
      cluster: "side",
      kind,
      indexes: {},
      checks: noChecks,
      handlers: [
        ({ object }) => {
          const key = `${object.metadata.namespace} ${kind.kind}`;
          this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
          this.lastAt = environment.clock.monotonicMs();
        },
      ],
    });
  }
}

/** The nodes of all histories. The one without a zone is not ready, so that zones can be counted. */
export async function makeNodes(client: KubeClient): Promise<void> {
  for (const { name, zone, cpu } of nodes) {
    const labels = zone === undefined ? {} : { "topology.kubernetes.io/zone": zone };
    await send(client, "POST", "/api/v1/nodes", { metadata: { name, labels } });
    await send(client, "PATCH", `/api/v1/nodes/${name}/status`, {
      status: {
        allocatable: { cpu, memory: "8Gi", pods: "110" },
        capacity: { cpu, memory: "8Gi", pods: "110" },
        conditions: [{ type: "Ready", status: zone === undefined ? "False" : "True" }],
      },
    });
  }
}

/** The effect of one request. */
export interface Answer {
  readonly status: number;
  readonly object: Readonly<Record<string, unknown>>;
}

/** Sends one request of a history; a refusal is an answer too. */
export async function perform(client: KubeClient, operation: Operation): Promise<Answer> {
  const { method, target, body } = operation;
  const path = typeof target === "string" ? target : await pathOf(client, target);
  if (path === undefined) return { status: 404, object: {} };
  return send(client, method, path, body);
}

export async function send(
  client: KubeClient,
  method: Operation["method"],
  path: string,
  body?: object,
): Promise<Answer> {
  try {
    const response = await client.request({
      verb: verbs[method],
      method,
      path,
      ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, object: objectRecord(parseJson(response)) };
  } catch (error) {
    if (error instanceof StatusError)
      return { status: error.code, object: { message: error.message } };
    throw error;
  }
}

export async function get(client: KubeClient, path: string): Promise<Answer> {
  const response = await client.request({ verb: "get", method: "GET", path });
  return { status: response.status, object: objectRecord(parseJson(response)) };
}

export async function list(
  client: KubeClient,
  path: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const response = await client.request({ verb: "list", method: "GET", path });
  return listAt(objectRecord(parseJson(response)), "items").filter(isRecord);
}

/** Does the work of all items, so many at a time. */
export async function inTurns<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const verbs = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" } as const;

/** Slices in the order of what they hold, since their names are drawn. */
async function pathOf(client: KubeClient, choice: SliceChoice): Promise<string | undefined> {
  const { namespace, service, index } = choice;
  const base = slicesPath.replace("/endpointslices", `/namespaces/${namespace}/endpointslices`);
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const slices = await list(client, `${base}?labelSelector=${selector}`);
  const inOrder = slices
    .map((slice) => ({ slice, key: keyOf(slice) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const chosen = inOrder[index % Math.max(1, inOrder.length)]?.slice;
  const name = chosen === undefined ? undefined : recordAt(chosen, "metadata")["name"];
  return typeof name === "string" ? `${base}/${name}` : undefined;
}

function keyOf(slice: Readonly<Record<string, unknown>>): string {
  const labels = recordAt(recordAt(slice, "metadata"), "labels");
  const addresses = listAt(slice, "endpoints")
    .filter(isRecord)
    .map((endpoint) => JSON.stringify(endpoint["addresses"]))
    .sort();
  return JSON.stringify([
    labels["endpointslice.kubernetes.io/managed-by"],
    slice["addressType"],
    listAt(slice, "ports")
      .filter(isRecord)
      .map(({ name, port, protocol }) => [name, port, protocol]),
    addresses,
  ]);
}
