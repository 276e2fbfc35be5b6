// Creates per second with several clients at once: Endpoints, which the measurement of lists then
// finds there, and pods.
import type { RawConnection } from "./apiserver-connection.ts";
import { endpoints, pod } from "./apiserver-objects.ts";
import type { BenchServer } from "./bench-server.ts";
import { atLeast, type Figures, median, plain } from "./benchmark.ts";

export interface ServerPair {
  readonly lab: BenchServer;
  readonly bare: BenchServer;
}

/** As many as the cluster of incident 001 had services. */
export const endpointsCount = 13_000;
const podsCount = 5_000;

/** Each turn sends an equal part of the objects, first to one server and then to the other. */
const turns = 10;

/** The first turns only warm up: the compiler needs some thousand requests. */
const warmUpTurns = 3;
const clients = 8;

const namespace = "default";

interface Rate {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

export async function measureCreates(
  servers: ServerPair,
  progress: (step: string) => void,
): Promise<Figures> {
  const ofEndpoints = await compare(servers, progress, {
    resource: "endpoints",
    count: endpointsCount,
    object: (number) => endpoints(namespace, `service-${number}`, number),
  });
  const ofPods = await compare(servers, progress, {
    resource: "pods",
    count: podsCount,
    object: (number) => pod(namespace, `web-${number}`),
  });
  const note = "share of the bare server's rate";
  return {
    createsPerSecond: plain(ofEndpoints.perSecond, "creates/s", `Endpoints, ${clients} clients`),
    bareCreatesPerSecond: plain(ofEndpoints.barePerSecond, "exchanges/s", "the same bodies"),
    createRatio: atLeast(ofEndpoints.ratio, 0.33, "× bare", note),
    createServerMicroseconds: plain(ofEndpoints.cpuMicroseconds, "µs", "processor time of one"),
    bareServerMicroseconds: plain(ofEndpoints.bareCpuMicroseconds, "µs", "processor time of one"),
    podCreatesPerSecond: plain(ofPods.perSecond, "creates/s", `${clients} clients`),
    podCreateRatio: atLeast(ofPods.ratio, 0.33, "× bare", note),
    podCreateServerMicroseconds: plain(ofPods.cpuMicroseconds, "µs", "processor time of one"),
  };
}

interface Series {
  readonly resource: string;
  readonly count: number;
  readonly object: (number: number) => object;
}

async function compare(
  { lab, bare }: ServerPair,
  progress: (step: string) => void,
  series: Series,
) {
  const labClients = await lab.connectMany(clients);
  const bareClients = await bare.connectMany(clients);
  const labRates: Rate[] = [];
  const bareRates: Rate[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    progress(`create ${series.resource}, turn ${turn + 1} of ${turns}`);
    const ofLab = await createPart(lab, labClients, series, turn);
    const ofBare = await createPart(bare, bareClients, series, turn);
    if (turn >= warmUpTurns) {
      labRates.push(ofLab);
      bareRates.push(ofBare);
    }
  }
  return {
    perSecond: median(labRates.map((rate) => rate.perSecond)),
    barePerSecond: median(bareRates.map((rate) => rate.perSecond)),
    ratio: median(labRates.map((rate, at) => rate.perSecond / (bareRates[at]?.perSecond ?? 0))),
    cpuMicroseconds: median(labRates.map((rate) => rate.cpuMicroseconds)),
    bareCpuMicroseconds: median(bareRates.map((rate) => rate.cpuMicroseconds)),
  };
}

async function createPart(
  server: BenchServer,
  connections: readonly RawConnection[],
  { resource, count, object }: Series,
  turn: number,
): Promise<Rate> {
  const part = count / turns;
  const path = `/api/v1/namespaces/${namespace}/${resource}`;
  const requests = Array.from({ length: part }, (_, index) =>
    server.post(path, object(turn * part + index)),
  );
  const cpuBefore = await server.cpuMicroseconds();
  const startedAt = performance.now();
  await sendAll(connections, requests);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  return { perSecond: part / seconds, cpuMicroseconds: cpu / part };
}

/** Each connection takes the next request as soon as its last was answered. */
export async function sendAll(
  connections: readonly RawConnection[],
  requests: readonly Buffer[],
): Promise<void> {
  const rest = requests[Symbol.iterator]();
  await Promise.all(
    connections.map(async (connection) => {
      for (const request of rest) {
        const { status, chunks } = await connection.exchange(request);
        if (status !== 201) {
          throw new Error(`answered with ${status}: ${Buffer.concat(chunks).toString("utf8")}`);
        }
      }
    }),
  );
}
