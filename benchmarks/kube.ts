// The cost of the reflector beside the unavoidable parsing, and beside the usual informer. The
// reference and the subject run in turns in the same process over the same bytes; figures are the
// medians of the ratios of each turn.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { Registry } from "prom-client";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { type Pod, podKind } from "../src/kube/kinds/pod.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import type { InformerFigures } from "./bench-informer-meter.ts";
import type { BenchServerData } from "./bench-kube-server.ts";
import { chunkBytes, MemoryClient, noWatch } from "./bench-memory-client.ts";
import { listPages, type PodForm, watchBytes } from "./bench-pods.ts";
import { atLeast, atMost, type Benchmark, type Figures, median, plain } from "./benchmark.ts";

const pods = 20_000;
const pageSize = 500;
const events = 20_000;
const turns = 7;
const informerTurns = 3;

const environment = nodeEnvironment();

export const kubeBenchmark: Benchmark = {
  description: "list, watch and memory of the reflector, beside JSON.parse and client-node",
  async run(progress) {
    return {
      ...(await withServer("whole", async (port) => ({
        ...(await measureLists("whole", port, progress)),
        ...(await measureWatches("whole", progress)),
        ...(await measureInformers(port, progress)),
      }))),
      // The reference parses what the reflector skips, so both pods are shown.
      ...(await withServer("lean", async (port) => ({
        ...(await measureLists("lean", port, progress)),
        ...(await measureWatches("lean", progress)),
      }))),
    };
  },
};

const afterName = { whole: "", lean: "WithoutManagedFields" };
const podTexts = { whole: "pods with managedFields", lean: "pods without managedFields" };

async function withServer(
  form: PodForm,
  measure: (port: string) => Promise<Figures>,
): Promise<Figures> {
  const data: BenchServerData = { form, pods, pageSize, events };
  const server = new Worker(new URL("./bench-kube-server.js", import.meta.url), {
    workerData: data,
  });
  try {
    const [port]: unknown[] = await once(server, "message");
    return await measure(String(port));
  } finally {
    await server.terminate();
  }
}

async function measureLists(
  form: PodForm,
  port: string,
  progress: (step: string) => void,
): Promise<Figures> {
  const url = `http://127.0.0.1:${port}`;
  const pages = listPages(form, pods, pageSize);
  const ratios: number[] = [];
  const blocks: number[] = [];
  const seconds: number[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    progress(`list of ${podTexts[form]}, ${turn} of ${turns}`);
    const parse = timed(() => parsePages(pages));
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const startedAt = performance.now();
    await listOnce(url);
    const list = performance.now() - startedAt;
    delay.disable();
    // The first turn only warms up.
    if (turn > 0) {
      ratios.push(list / parse);
      seconds.push(list / 1000);
      blocks.push(delay.max / 1e6);
    }
  }
  const after = afterName[form];
  const bytes = pages.reduce((sum, { length }) => sum + length, 0) / pods;
  const note = `${pods} ${podTexts[form]} over loopback HTTP`;
  return {
    [`podBytes${after}`]: plain(bytes, "bytes", `${podTexts[form]}, as JSON`),
    [`listRatio${after}`]: atMost(median(ratios), 1.3, "× JSON.parse", note),
    [`listSeconds${after}`]: plain(median(seconds), "s"),
    [`maxBlockMs${after}`]: plain(median(blocks), "ms", "longest turn of the event loop in it"),
  };
}

async function measureWatches(form: PodForm, progress: (step: string) => void): Promise<Figures> {
  const changes = watchBytes(form, pods, events);
  const client = new MemoryClient(listPages(form, pods, pageSize), pageSize, changes);
  const ratios: number[] = [];
  const rates: number[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    progress(`watch of ${podTexts[form]}, ${turn} of ${turns}`);
    const split = timed(() => splitAndParse(changes));
    const watch = await watchOnce(client);
    if (turn > 0) {
      ratios.push(split / watch);
      rates.push((events * 1000) / watch);
    }
  }
  const after = afterName[form];
  const note = `${events} events of ${podTexts[form]} in memory`;
  return {
    [`watchRatio${after}`]: atLeast(median(ratios), 0.8, "× split + parse", note),
    [`watchEventsPerSecond${after}`]: plain(median(rates), "events/s"),
  };
}

async function measureInformers(port: string, progress: (step: string) => void): Promise<Figures> {
  const ours: InformerFigures[] = [];
  const theirs: InformerFigures[] = [];
  for (let turn = 1; turn <= informerTurns; turn += 1) {
    progress(`informers ${turn} of ${informerTurns}`);
    ours.push(await informer("lockstep", port));
    theirs.push(await informer("client-node", port));
  }
  const middle = (figures: InformerFigures[], key: keyof InformerFigures): number =>
    median(figures.map((one) => one[key]));
  const retained = middle(ours, "retainedBytes");
  const note = "a process each";
  return {
    retainedBytesPerPod: atMost(retained / pods, 600, "bytes", "with an index by node"),
    clientNodeBytesPerPod: plain(middle(theirs, "retainedBytes") / pods, "bytes"),
    memoryRatio: atLeast(middle(theirs, "retainedBytes") / retained, 10, "× less", note),
    coldListSeconds: plain(middle(ours, "listSeconds"), "s", note),
    clientNodeListSeconds: plain(middle(theirs, "listSeconds"), "s", note),
    listSpeedup: atLeast(
      middle(theirs, "listSeconds") / middle(ours, "listSeconds"),
      2,
      "× faster",
      note,
    ),
    coldWatchSeconds: plain(middle(ours, "watchSeconds"), "s", note),
    clientNodeWatchSeconds: plain(middle(theirs, "watchSeconds"), "s", note),
    watchSpeedup: atLeast(
      middle(theirs, "watchSeconds") / middle(ours, "watchSeconds"),
      2,
      "× faster",
      note,
    ),
  };
}

async function listOnce(url: string): Promise<void> {
  const client = new HttpKubeClient({
    ...environment,
    cluster: fixedAccess({ name: "bench", server: url }),
    userAgent: "lockstep-bench",
  });
  // The server would send its watch right after the list; here only the list counts.
  const reflector = podReflector(
    { request: (r) => client.request(r), stream: noWatch },
    () => undefined,
  );
  reflector.start();
  await reflector.waitForSync();
  await reflector.stop();
}

/** Milliseconds from the first byte of the watch to the last event. */
async function watchOnce(client: MemoryClient): Promise<number> {
  let updates = 0;
  const all = new Promise<number>((resolve) => {
    const reflector = podReflector(client, (type) => {
      updates += type === "updated" ? 1 : 0;
      if (updates === events && type === "updated") {
        const doneAt = performance.now();
        void reflector.stop().then(() => resolve(doneAt));
      }
    });
    reflector.start();
  });
  const doneAt = await all;
  return doneAt - client.watchedAt;
}

function podReflector(
  client: KubeClient,
  onChange: (type: string) => void,
): Reflector<Pod, "node"> {
  return new Reflector<Pod, "node">({
    ...environment,
    kind: podKind,
    client,
    cluster: "bench",
    indexes: { node: (pod) => pod.nodeName },
    handlers: [(change) => onChange(change.type)],
    metrics: new Registry(),
  });
}

/** The reference of the list: nothing but parsing. Returns a count, so that nothing is left out. */
function parsePages(pages: readonly Buffer[]): number {
  let count = 0;
  for (const page of pages) {
    const list: { items: unknown[] } = JSON.parse(page.toString("utf8"));
    count += list.items.length;
  }
  return count;
}

/** The reference of the watch: lines out of chunks, and parsing. */
function splitAndParse(bytes: Buffer): number {
  let count = 0;
  let rest: Buffer = Buffer.alloc(0);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes);
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      const line = chunk.subarray(start, end);
      const whole = rest.length === 0 ? line : Buffer.concat([rest, line]);
      rest = Buffer.alloc(0);
      const event: { type: string } = JSON.parse(whole.toString("utf8"));
      count += event.type === "MODIFIED" ? 1 : 0;
      start = end + 1;
    }
    rest = chunk.subarray(start);
  }
  return count;
}

function timed(work: () => number): number {
  const startedAt = performance.now();
  if (work() === 0) {
    throw new Error("the reference did nothing");
  }
  return performance.now() - startedAt;
}

async function informer(who: string, port: string): Promise<InformerFigures> {
  const program = fileURLToPath(new URL("./bench-kube-informer.js", import.meta.url));
  const args = ["--expose-gc", program, who, port, String(pods), String(events)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const figures: InformerFigures = JSON.parse(stdout);
  return figures;
}
