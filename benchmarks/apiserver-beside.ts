// The lab's API server in memory and on etcd beside a real kube-apiserver on the same kind of etcd:
// the same requests to each in turns. A part that is not installed or built is left out, with a
// message.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type EtcdProcess, startEtcd } from "../src/lab/processes/etcd-process.ts";
import { Audience, watchersCount } from "./apiserver-audience.ts";
import type { RawConnection } from "./apiserver-connection.ts";
import { sendAll } from "./apiserver-creates.ts";
import { endpoints } from "./apiserver-objects.ts";
import { ServerProcess } from "./apiserver-process.ts";
import { findRealPrograms, RealServer } from "./apiserver-real.ts";
import type { BenchServer } from "./bench-server.ts";
import { type Figure, type Figures, median, notMeasured, plain } from "./benchmark.ts";

const clients = 8;
const createTurns = 8;
const warmUpTurns = 3;
const createsPerTurn = 500;
const listTurns = 5;
const fanOutTurns = 5;
const fanOutWarmUpTurns = 2;
const writesPerTurn = 100;

const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/endpoints`;

const rows = {
  ReadyMs: { row: "ready after", unit: "ms" },
  CreatesPerSecond: { row: "creates", unit: "creates/s" },
  ListMs: { row: `list of ${createTurns * createsPerTurn}`, unit: "ms" },
  FanOutPerSecond: { row: `events to ${watchersCount} watchers`, unit: "events/s" },
  Megabytes: { row: "memory after all that", unit: "MB" },
} as const;

type Measure = keyof typeof rows;

/** A column of the table. */
interface Subject {
  readonly name: "memory" | "etcd" | "real";
  readonly column: string;
  readonly note: string;
  /** Undefined when it cannot be measured here; the note says why. */
  readonly server: BenchServer | undefined;
  readonly values: Partial<Record<Measure, number>>;
}

export async function measureBeside(progress: (step: string) => void): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-"));
  const stops: (() => Promise<void>)[] = [];
  try {
    progress("start a server in memory, one on etcd and a real one");
    const subjects = await startAll(folder, stops);
    await measureAll(subjects, progress);
    return figuresOf(subjects);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startAll(
  folder: string,
  stops: (() => Promise<void>)[],
): Promise<readonly Subject[]> {
  const keep = <Running extends { stop(): Promise<void> }>(running: Running): Running => {
    stops.push(() => running.stop());
    return running;
  };
  const etcd = async (name: string): Promise<EtcdProcess | undefined> => {
    const program = etcdProgram();
    if (program === undefined) return undefined;
    const environment = nodeEnvironment();
    return keep(await startEtcd({ environment, folder: join(folder, name), program }));
  };
  const memory = keep(await ServerProcess.start("memory"));
  const ours = await etcd("ours");
  const onEtcd = ours && keep(await ServerProcess.start("etcd", ours.url));
  const programs = findRealPrograms();
  const theirs = programs && (await etcd("theirs"));
  mkdirSync(join(folder, "real"));
  const real =
    programs && theirs && keep(await RealServer.start(programs, join(folder, "real"), theirs.url));
  const etcdNote = ours === undefined ? notThere.etcd : `the same on ${etcdProgram()}`;
  return [
    { name: "memory", column: "in memory", note: "the lab's", server: memory, values: {} },
    { name: "etcd", column: "on etcd", note: etcdNote, server: onEtcd, values: {} },
    {
      name: "real",
      column: "kube-apiserver",
      note: programs?.versions ?? notThere.real,
      server: real,
      values: {},
    },
  ];
}

const notThere = {
  etcd: "not measured: install etcd-server",
  real: "not measured: run npm run test:real -- --build-only",
} as const;

/** The same for both, so that it is the servers that differ: the built one, else Debian's. */
function etcdProgram(): string | undefined {
  const built = findRealPrograms();
  const candidates = [
    ...(built === undefined ? [] : [join(built.folder, "etcd")]),
    "/usr/bin/etcd",
  ];
  return candidates.find((program) => existsSync(program));
}

async function measureAll(
  subjects: readonly Subject[],
  progress: (step: string) => void,
): Promise<void> {
  const there = subjects.flatMap(({ server, ...rest }) =>
    server === undefined ? [] : [{ ...rest, server }],
  );
  for (const { server, values } of there) values.ReadyMs = server.readyMs;
  const creating = await Promise.all(
    there.map(async (one) => ({ ...one, connections: await one.server.connectMany(clients) })),
  );
  await inTurns(creating, createTurns, warmUpTurns, "CreatesPerSecond", async (one, turn) => {
    progress(`create ${one.column}, turn ${turn + 1} of ${createTurns}`);
    return createsPerSecond(one.server, one.connections, turn);
  });
  const listing = await Promise.all(
    there.map(async (one) => ({ ...one, connection: await one.server.connect() })),
  );
  await inTurns(listing, listTurns, 1, "ListMs", (one) => listMs(one.server, one.connection));
  const audiences = await Promise.all(
    there.map(async (one) => ({ ...one, audience: await Audience.open(one.server) })),
  );
  await inTurns(audiences, fanOutTurns, fanOutWarmUpTurns, "FanOutPerSecond", async (one, turn) => {
    progress(`fan-out ${one.column}, turn ${turn + 1} of ${fanOutTurns}`);
    return (await one.audience.saturate(writesPerTurn)).eventsPerSecond;
  });
  for (const { server, values } of there) values.Megabytes = server.residentMegabytes();
}

/** Each in turn, so that all see the same machine; the median of what is not warming up. */
async function inTurns<One extends Pick<Subject, "values">>(
  all: readonly One[],
  turns: number,
  warmUp: number,
  measure: Measure,
  take: (one: One, turn: number) => Promise<number>,
): Promise<void> {
  const taken = new Map<One, number[]>(all.map((one) => [one, []]));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const one of all) {
      const value = await take(one, turn);
      if (turn >= warmUp) taken.get(one)?.push(value);
    }
  }
  for (const [one, values] of taken) one.values[measure] = median(values);
}

async function createsPerSecond(
  server: BenchServer,
  connections: readonly RawConnection[],
  turn: number,
): Promise<number> {
  const requests = Array.from({ length: createsPerTurn }, (_, index) => {
    const number = turn * createsPerTurn + index;
    return server.post(path, endpoints(namespace, `service-${number}`, number));
  });
  const startedAt = performance.now();
  await sendAll(connections, requests);
  return createsPerTurn / ((performance.now() - startedAt) / 1000);
}

async function listMs(server: BenchServer, connection: RawConnection): Promise<number> {
  const startedAt = performance.now();
  const { status, bodyBytes } = await connection.exchange(server.get(path));
  if (status !== 200 || bodyBytes === 0) throw new Error(`a list was answered with ${status}`);
  return performance.now() - startedAt;
}

function figuresOf(subjects: readonly Subject[]): Figures {
  return Object.fromEntries(
    subjects.flatMap((subject) =>
      entriesOf(rows).map(([measure, { row, unit }]) => {
        const value = subject.values[measure];
        const figure: Figure =
          value === undefined ? notMeasured(unit, subject.note) : plain(value, unit, subject.note);
        const place = { row, column: subject.column };
        return [`${subject.name}${measure}`, { ...figure, place }];
      }),
    ),
  );
}

function entriesOf<Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] {
  return Object.entries(record) as [Key, Value][];
}
