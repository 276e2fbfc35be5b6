// How slices fill, shrink and are packed again. The real controller places endpoints by chance, so
// no two control planes stay alike. Instead, at every step of the real one, the lab's plan predicts
// the next slices from the present ones, and the result is compared with the prediction.
import { type Random, randomInt } from "../../../src/environment/random.ts";
import { type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import { type Node, nodeKind } from "../../../src/kube/kinds/node.ts";
import { controlledServiceKind } from "../../../src/lab/controllers/controlled-service.ts";
import { readSlice } from "../../../src/lab/controllers/endpointslices/published-slice.ts";
import { sliceGroups } from "../../../src/lab/controllers/endpointslices/slice-groups.ts";
import { withoutHints } from "../../../src/lab/controllers/endpointslices/slice-hints.ts";
import { planSlices } from "../../../src/lab/controllers/endpointslices/slice-plan.ts";
import { ownedPodKind } from "../../../src/lab/controllers/owned-pod.ts";
import { wholeSlices } from "../../../src/lab/controllers/whole-object.ts";
import { SeededRandom } from "../../../src/simulation/seeded-random.ts";
import { chance } from "./scene.ts";
import { get, inTurns, list, type Side, send, slicesPath, Witness } from "./side.ts";

export interface PackingOptions {
  readonly seed: number;
  readonly namespaces: number;
  readonly rounds: number;
  readonly maxEndpoints: number;
}

export interface Packing {
  readonly transitions: number;
  /** The predictions and results that differ. */
  readonly differences: readonly string[];
}

const podsEach = 16;

/** Namespaces at a time. */
const concurrency = 16;
const hash = "fnv-128a";

/** The nodes must exist. In each round every service selects other pods, all at once. */
export async function playPacking(side: Side, options: PackingOptions): Promise<Packing> {
  const witness = new Witness(side);
  await witness.start();
  try {
    return await packed(side, witness, options);
  } finally {
    await witness.stop();
  }
}

async function packed(side: Side, witness: Witness, options: PackingOptions): Promise<Packing> {
  const { client } = side;
  const { maxEndpoints } = options;
  const random = new SeededRandom({ seed: options.seed, name: "packing" });
  const names = Array.from({ length: options.namespaces }, (_, number) => `pack-${number}`);
  await inTurns(names, concurrency, (namespace) =>
    populate(side, namespace, random, options.rounds),
  );
  await side.settle(witness);
  const { object: rawNode } = await get(client, "/api/v1/nodes/node-a");
  const node = nodeKind.project(rawNode);
  const differences: string[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const before = await slicesByNamespace(side);
    await inTurns(names, concurrency, async (namespace) => {
      const path = `/api/v1/namespaces/${namespace}/services/web`;
      const selector = { app: null, [`round-${round - 1}`]: null, [`round-${round}`]: "in" };
      await send(client, "PATCH", path, { spec: { selector } });
    });
    await side.settle(witness);
    const after = await slicesByNamespace(side);
    await inTurns(names, concurrency, async (namespace) => {
      const slices = before.get(namespace) ?? [];
      const predicted = await foretell(side, namespace, { slices, node, maxEndpoints });
      const came = change(slices, after.get(namespace) ?? []);
      if (predicted !== came) {
        differences.push(`${namespace}, round ${round}: foretold ${predicted}, came ${came}`);
      }
    });
  }
  return { transitions: options.rounds * options.namespaces, differences };
}

/** Pods that say in which rounds they are selected, and a service that selects none yet. */
async function populate(side: Side, namespace: string, random: Random, rounds: number) {
  const { client } = side;
  const base = `/api/v1/namespaces/${namespace}`;
  await send(client, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  for (let number = 0; number < podsEach; number += 1) {
    const name = `pod-${number}`;
    const selected = Array.from({ length: rounds }, (_, round) => `round-${round}`).filter(() =>
      chance(random, 0.6),
    );
    const labels = Object.fromEntries(selected.map((label) => [label, "in"]));
    const ports = [{ name: "http", containerPort: 8080 + randomInt(random, 2) }];
    await send(client, "POST", `${base}/pods`, {
      metadata: { name, labels },
      spec: { nodeName: "node-a", containers: [{ name: "main", image: "main:1", ports }] },
    });
    const podIP = `10.201.60.${1 + number}`;
    const conditions = [{ type: "Ready", status: "True" }];
    await send(client, "PATCH", `${base}/pods/${name}/status`, {
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions },
    });
  }
  await send(client, "POST", `${base}/services`, {
    metadata: { name: "web" },
    spec: { selector: { app: "nobody" }, ports: [{ port: 80, targetPort: "http" }] },
  });
}

/** The input of a plan. */
interface Given {
  readonly slices: readonly RawRecord[];
  readonly node: Node;
  readonly maxEndpoints: number;
}

async function foretell(
  { client }: Side,
  namespace: string,
  { slices, node, maxEndpoints }: Given,
): Promise<string> {
  const base = `/api/v1/namespaces/${namespace}`;
  const [raw] = await list(client, `${base}/services`);
  const service = controlledServiceKind.project(raw);
  const selector = Object.entries(service.selector ?? {});
  const pods = (await list(client, `${base}/pods`))
    .map((pod) => ownedPodKind.project(pod))
    .filter(({ metadata }) => selector.every(([name, value]) => metadata.labels[name] === value));
  const addressType = "IPv4";
  const { groups } = sliceGroups({ service, pods, addressType, nodeNamed: () => node, hash });
  const existing = slices.map((slice) => readSlice(wholeSlices.project(slice)));
  const rules = { maxEndpoints, hash, hinting: withoutHints } as const;
  const plan = planSlices({ service, addressType, existing, groups, ...rules });
  const touched = new Set(
    [...plan.update, ...plan.remove].map(({ object }) => object?.metadata.name),
  );
  const untouched = existing.filter(({ object }) => !touched.has(object.metadata.name));
  const left = [...untouched, ...plan.update, ...plan.create];
  return inWords(
    left.map(({ endpoints }) => endpoints.length),
    { create: plan.create.length, update: plan.update.length, remove: plan.remove.length },
  );
}

function change(before: readonly RawRecord[], after: readonly RawRecord[]): string {
  const old = new Map(before.map((slice) => [nameOf(slice), versionOf(slice)]));
  const names = new Set(after.map(nameOf));
  return inWords(
    after.map((slice) => readSlice(wholeSlices.project(slice)).endpoints.length),
    {
      create: after.filter((slice) => !old.has(nameOf(slice))).length,
      update: after.filter(
        (slice) => (old.get(nameOf(slice)) ?? versionOf(slice)) !== versionOf(slice),
      ).length,
      remove: before.filter((slice) => !names.has(nameOf(slice))).length,
    },
  );
}

function inWords(
  sizes: readonly number[],
  { create, update, remove }: { create: number; update: number; remove: number },
): string {
  const sorted = sizes.toSorted((one, other) => one - other).join(" ");
  return `${create} created, ${update} written, ${remove} deleted, sizes ${sorted}`;
}

async function slicesByNamespace({ client }: Side): Promise<ReadonlyMap<unknown, RawRecord[]>> {
  const found = new Map<unknown, RawRecord[]>();
  for (const slice of await list(client, slicesPath)) {
    const { namespace } = recordAt(slice, "metadata");
    found.set(namespace, [...(found.get(namespace) ?? []), slice]);
  }
  return found;
}

function nameOf(slice: RawRecord): unknown {
  return recordAt(slice, "metadata")["name"];
}

function versionOf(slice: RawRecord): unknown {
  return recordAt(slice, "metadata")["resourceVersion"];
}
