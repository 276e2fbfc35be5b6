// The cost of the page, in the server and in a browser. In the server: the observer of 10,000 services
// with 100 changes a second, alone and beside the server of the page with one page and with a hundred, in
// turns in the same process. The pages are another process, so that only the server's share is counted.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { pageFolder } from "../src/cli/page-folder.ts";
import type { WallMs } from "../src/environment/clock.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { PageServer } from "../src/server/page-server.ts";
import type { JourneyEvent } from "../src/timeline/journey-event.ts";
import { atMost, type Benchmark, type Figures, median, type Progress, plain } from "./benchmark.ts";
import { JourneysWorld, podsPerService } from "./journeys-world.ts";
import { type BrowserOptions, browserFigures, bundleFigures } from "./page-browser.ts";

const services = 10_000;
const changesPerSecond = 100;
const burst = 5;
const manyPages = 100;
const settledAfterSeconds = 60;
const settleMs = 500;

/** What runs beside the observer. */
type Beside = "nothing" | "one page" | "many pages";

interface Turn {
  readonly share: number;
  readonly bytesPerSecond: number;
  readonly statesPerSecond: number;
  readonly keptBytes: number;
}

export const pageBenchmark: Benchmark = {
  description:
    "the page at 10k services: share of a core, bytes and memory of its server; frames, memory, first paint and size in a browser",
  hasQuickRun: true,
  takesMinutes: true,
  async run(progress, { quick, minutes = quick ? 2 : 30 }) {
    const world = filledWorld(progress);
    const [turns, seconds] = quick ? [1, 5] : [5, 20];
    progress("warming up");
    await oneTurn(world, "one page", 3);
    const results: Record<Beside, Turn[]> = { nothing: [], "one page": [], "many pages": [] };
    for (let turn = 1; turn <= turns; turn += 1) {
      for (const beside of ["nothing", "one page", "many pages"] as const) {
        progress(`turn ${turn} of ${turns}: beside ${beside}`);
        results[beside].push(await oneTurn(world, beside, seconds));
      }
    }
    return { ...figuresOf(results), ...(await inBrowser(world, { progress, quick, minutes })) };
  },
};

async function inBrowser(
  world: JourneysWorld,
  options: Pick<BrowserOptions, "progress" | "quick" | "minutes">,
): Promise<Figures> {
  const server = await startServer(world);
  listener.onEvent = server.onEvent;
  try {
    const changesFor = async (seconds: number): Promise<void> => {
      await paced(world, madeFor(world, seconds));
    };
    const figures = await browserFigures({ ...options, url: server.url, changesFor });
    return { ...bundleFigures(), ...figures };
  } finally {
    listener.onEvent = () => undefined;
    await server.stop();
  }
}

function madeFor(world: JourneysWorld, seconds: number) {
  return Array.from({ length: seconds * changesPerSecond }, () => world.makeChange());
}

function figuresOf(results: Readonly<Record<Beside, readonly Turn[]>>): Figures {
  const middle = (beside: Beside, of: (turn: Turn) => number): number =>
    median(results[beside].map(of));
  const share = (beside: Beside): number => middle(beside, (turn) => turn.share);
  const alone = share("nothing");
  const note = `${services} services, ${changesPerSecond} changes/s of three hops each`;
  return {
    observerShare: plain(alone, "% of a core", `the observer alone; ${note}`),
    onePageShare: plain(share("one page"), "% of a core", "the same with one open page"),
    manyPagesShare: plain(share("many pages"), "% of a core", `with ${manyPages} open pages`),
    onePageRatio: atMost(share("one page") / alone, 2, "× alone"),
    manyPagesRatio: atMost(share("many pages") / alone, 5, "× alone"),
    bytesPerSecond: atMost(
      middle("one page", ({ bytesPerSecond }) => bytesPerSecond),
      500_000,
      "bytes/s",
      "to one page, not compressed",
    ),
    statesPerSecond: atMost(
      middle("many pages", ({ statesPerSecond }) => statesPerSecond),
      1.5,
      "states/s",
      `computed for ${manyPages} pages`,
    ),
    pageMegabytes: atMost(
      middle("many pages", ({ keptBytes }) => keptBytes) / 1e6,
      50,
      "MB",
      "heap that the server holds after a turn: changes, charts, the ring of events",
    ),
  };
}

function filledWorld(progress: Progress): JourneysWorld {
  const pods = Math.ceil(services * podsPerService);
  progress(`a cluster of ${services} services and ${pods} pods`);
  const world = new JourneysWorld({ pods, onEvent: (event) => listener.onEvent(event) });
  world.fillServices();
  world.showServices();
  world.fillPodsAndSlices();
  world.showEndpoints();
  for (let second = 0; second < settledAfterSeconds; second += 1) world.skip(1_000);
  return world;
}

/** Where the events of the observer go. */
const listener: { onEvent: (event: JourneyEvent) => void } = { onEvent: () => undefined };

async function startServer(world: JourneysWorld): Promise<PageServer> {
  const environment = nodeEnvironment({ log: { level: () => "error" } });
  const startedMs = Date.now() - world.now();
  const clock = {
    monotonicMs: () => world.now(),
    wallMs: () => (startedMs + world.now()) as WallMs,
  };
  const run = { name: "bench", wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  const { journeys } = world;
  return await PageServer.start({
    ...environment,
    source: {
      clock,
      timers: environment.timers,
      mode: "clusters",
      observer: () => ({ run, journeys, clusters: () => [watching] }),
      accessClusters: () => [],
      replicas: () => [replica],
      notes: () => [],
    },
    version: "0.0.0",
    slowMs: 2_000,
    host: "127.0.0.1",
    port: 0,
    pageFolder: pageFolder(),
  });
}

const replica = {
  name: "r1",
  kind: "lockstep",
  state: "connected",
  reportedAt: null,
  problem: null,
} as const;

const watching = {
  cluster: "bench",
  state: { type: "watching" },
  watches: [],
  lost: [],
  doubts: [],
} as const;

async function oneTurn(world: JourneysWorld, beside: Beside, seconds: number): Promise<Turn> {
  const made = madeFor(world, seconds);
  if (beside === "nothing") {
    const share = await paced(world, made);
    return { share, bytesPerSecond: 0, statesPerSecond: 0, keptBytes: 0 };
  }
  const { held, ...turn } = await servedTurn(world, beside, made);
  // In another turn of the loop nothing refers to the server any more.
  await until(performance.now() + settleMs);
  return { ...turn, keptBytes: held - heapBytes() };
}

/** With the heap of the process while the server is still there. */
async function servedTurn(
  world: JourneysWorld,
  beside: Exclude<Beside, "nothing">,
  made: readonly ReturnType<JourneysWorld["makeChange"]>[],
): Promise<Omit<Turn, "keptBytes"> & { readonly held: number }> {
  const pages = beside === "one page" ? 1 : manyPages;
  const seconds = made.length / changesPerSecond;
  const server = await startServer(world);
  listener.onEvent = server.onEvent;
  const reader = await startReader(server.url, pages);
  const share = await paced(world, made);
  const bytes = await reader.stop();
  const statesPerSecond = server.model.computed / seconds;
  const held = heapBytes();
  listener.onEvent = () => undefined;
  await server.stop();
  return { share, bytesPerSecond: bytes / pages / seconds, statesPerSecond, held };
}

/** The share of a core while the changes happen. */
async function paced(
  world: JourneysWorld,
  made: readonly ReturnType<JourneysWorld["makeChange"]>[],
): Promise<number> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let lookAt = startedAt;
  for (let done = 0; done < made.length; done += burst) {
    await until(startedAt + (done * 1_000) / changesPerSecond);
    for (const change of made.slice(done, done + burst)) world.observe(world.store(change));
    if (performance.now() < lookAt) continue;
    lookAt += 1_000;
    world.journeys.advance(world.now());
  }
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  return (100 * (user + system)) / 1_000 / tookMs;
}

/** Opens the streams, reports when all are open, and prints the bytes at its end. */
const readerProgram = `
const http = require("node:http");
const [url, pages] = process.argv.slice(1);
let bytes = 0;
let open = 0;
for (let one = 0; one < Number(pages); one += 1) {
  http.get(url + "api/v1/events", { agent: false }, (answer) => {
    answer.once("data", () => { open += 1; if (open === Number(pages)) console.log("open"); });
    answer.on("data", (chunk) => { bytes += chunk.length; });
  });
}
process.stdin.on("data", () => { console.log(String(bytes)); process.exit(0); });
`;

async function startReader(url: string, pages: number): Promise<{ stop(): Promise<number> }> {
  const child: ChildProcess = spawn(process.execPath, ["-e", readerProgram, url, String(pages)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the reader has no pipes");
  await once(stdout, "data");
  return {
    stop: async () => {
      stdin.write("end\n");
      const [text] = await once(stdout, "data");
      await once(child, "exit");
      return Number(String(text).trim());
    },
  };
}

async function until(at: number): Promise<void> {
  const waitMs = at - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** After everything that can be let go of has been. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}
