// The endpoint controllers of the lab against those of a real kube-controller-manager, object by
// object: the same random histories are played on both, the real ones in real time and the lab's in
// virtual time, and whatever differs is a failure. LOCKSTEP_REAL_CASES says how many namespaces,
// LOCKSTEP_REAL_SEED which.
import { expect, test } from "vitest";
import { type Difference, differencesOf, inWords, without } from "./controllers/differences.ts";
import { eventsOf } from "./controllers/events.ts";
import { crowdHistory, labelsHistory } from "./controllers/fixed-histories.ts";
import { randomHistory } from "./controllers/history.ts";
import { knownDifferences } from "./controllers/known-differences.ts";
import { OrderCheck } from "./controllers/order.ts";
import { playPacking } from "./controllers/packing.ts";
import { type Played, play } from "./controllers/play.ts";
import { countPuts, idleSyncs, type Puts } from "./controllers/puts.ts";
import type { History } from "./controllers/scene.ts";
import type { Side } from "./controllers/side.ts";
import { onLabSide, onRealSide, type SideOptions } from "./controllers/sides.ts";
import { realVersions } from "./harness/real-binaries.ts";
import { writeRealResult } from "./results.ts";

const seed = Number(process.env["LOCKSTEP_REAL_SEED"] ?? 1);
const cases = Number(process.env["LOCKSTEP_REAL_CASES"] ?? 1_000);
const steps = 20;

/**
 * A restarted controller syncs everything once or twice, as luck has it: only services whose
 * Endpoints are written at every sync can tell, or those that are tried again and again, and their
 * histories end before.
 */
const restartedBefore = 14;

/** Requests of different namespaces that are under way at a time. */
const concurrency = 16;

const maxEndpoints = 4;
const packing = { seed, namespaces: 40, rounds: 10, maxEndpoints };

/** The printed part of the first namespaces that differ. */
const shown = 10;

/** More are no chance of the real side. */
const replayedMax = 5;

const options: SideOptions = {
  controllers: [
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "garbage-collector-controller",
  ],
  flags: {
    "kube-api-qps": 2000,
    "kube-api-burst": 4000,
    "concurrent-endpoint-syncs": 20,
    "concurrent-service-endpoint-syncs": 20,
    "mirroring-concurrent-service-endpoint-syncs": 20,
  },
};

interface Outcome {
  readonly played: Played;
  readonly puts: Puts;
  readonly events: readonly string[];
}

const histories: readonly History[] = [
  ...Array.from({ length: cases }, (_, number) => {
    const allowsAlwaysWritten = number % 3 === 0;
    const hasMissingNode = number % 5 === 4;
    const length = allowsAlwaysWritten || hasMissingNode ? restartedBefore : steps;
    const kind = { allowsAlwaysWritten, hasMissingNode, hasTopology: number % 2 === 1 };
    return randomHistory({ seed, number, steps: length, ...kind });
  }),
  crowdHistory,
  labelsHistory,
];

test("random histories lead to the same objects, writes and events", async () => {
  const order = new OrderCheck();
  const { outcome: real, packed } = await onRealSide(options, async (side) => {
    const outcome = await playedOn(side, order);
    await side.restart({ "max-endpoints-per-slice": maxEndpoints });
    return { outcome, packed: await playPacking(side, packing) };
  });
  const lab = await onLabSide(options, (side) => playedOn(side));
  const first = differencesOf(histories, real.played, lab.played);
  const differences = await confirmed(first);
  const services = histories.flatMap((history) => history.steps.filter(isNewService));
  const taken = histories.reduce((sum, history) => sum + history.steps.length, 0);
  const lines = [
    `kube-controller-manager ${realVersions().kubernetes} and the lab's 1.36, seed ${seed}:`,
    `${histories.length} namespaces, ${services.length} services, ${taken} steps:`,
    `${first.length} namespaces differ, ${differences.length} of them when played again too`,
    ...first.slice(0, shown).map(inWords),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  writeRealResult({
    section: "controllers",
    title: "Endpoint controllers",
    text:
      "The lab's endpoints, endpointslice and endpointslice-mirroring controllers of 1.36 and the " +
      "real ones played the same random histories, with the garbage collector beside them. After " +
      "each step every Endpoints and EndpointSlice object, the number of writes and in the end " +
      "the Events were compared. Names, uids, versions and times that a server chooses were " +
      "compared by their meaning. The order of endpoints in a slice, and which of several slices " +
      "has an endpoint, are left out, because the real controller leaves them to Go's maps.",
    facts: {
      "kube-controller-manager": realVersions().kubernetes,
      seed,
      namespaces: histories.length,
      services: services.length,
      steps: taken,
      "namespaces that differ": differences.length,
      "Endpoints whose order of subsets and ports was checked": order.result().checked,
      "of these in another order": order.result().wrong.length,
      "distinct Events compared": real.events.length,
      "packings of slices predicted": packed.transitions,
      "predicted wrongly": packed.differences.length,
    },
    columns: [`Endpoints PUTs in ${idleSyncs} idle syncs`, "real", "lab"],
    rows: [
      ["ordinary service", real.puts.ordinary, lab.puts.ordinary],
      [
        "the label of headless services on the service",
        real.puts.headlessLabel,
        lab.puts.headlessLabel,
      ],
      ["more than 1,000 addresses", real.puts.overCapacity, lab.puts.overCapacity],
    ],
  });
  writeRealResult(knownDifferences);
  expect({
    differences: differences.map(inWords),
    wrongOrders: order.result().wrong,
    otherPackings: packed.differences,
    puts: lab.puts,
    eventsOfRealAlone: without(real.events, lab.events),
    eventsOfLabAlone: without(lab.events, real.events),
  }).toEqual({
    differences: [],
    wrongOrders: [],
    otherPackings: [],
    puts: real.puts,
    eventsOfRealAlone: [],
    eventsOfLabAlone: [],
  });
}, 900_000);

async function playedOn(side: Side, order?: OrderCheck): Promise<Outcome> {
  const found: Puts[] = [];
  const played = await play(side, {
    histories,
    concurrency,
    restartBefore: new Set([restartedBefore]),
    onRound: ({ endpoints }) => order?.look(endpoints),
    onEnd: async (witness) => {
      found.push(await countPuts(side, witness, crowdHistory.namespace));
    },
  });
  const [puts] = found;
  if (puts === undefined) throw new Error("the writes were not counted");
  return { played, puts, events: await eventsOf(side) };
}

/**
 * Those that differ when they are played once more. The real controllers run in real time: now and then
 * one syncs before its cache has its own last write, and writes once more.
 */
async function confirmed(first: readonly Difference[]): Promise<readonly Difference[]> {
  if (first.length === 0 || first.length > replayedMax) return first;
  const again = histories.filter(({ namespace }) =>
    first.some((difference) => difference.namespace === namespace),
  );
  const replay = (side: Side): Promise<Played> =>
    play(side, { histories: again, concurrency, restartBefore: new Set([restartedBefore]) });
  return differencesOf(again, await onRealSide(options, replay), await onLabSide(options, replay));
}

function isNewService({ title }: History["steps"][number]): boolean {
  return /^service \w+ \{|^a service /.test(title);
}
