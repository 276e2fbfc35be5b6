// What the page costs in a browser: frames while changes arrive, memory over time, the first paint, and
// the size of what is loaded. A still page in the same browser, beside the same server, is the reference:
// on a busy machine its frames are late too.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { pageFolder } from "../src/cli/page-folder.ts";
import { chromiumPath, desktop, printedAddress, startBrowser } from "../tests/page/browser.ts";
import {
  atMost,
  type Figures,
  notMeasured,
  type Progress,
  percentile,
  plain,
} from "./benchmark.ts";

export interface BrowserOptions {
  readonly progress: Progress;
  readonly quick: boolean;
  /** How long the memory of the page is followed. */
  readonly minutes: number;
  /** The address of the server whose observer sees the changes. */
  readonly url: string;
  /** Lets the changes happen for this long, as fast as a person would see them. */
  readonly changesFor: (seconds: number) => Promise<void>;
}

interface Looked {
  readonly frames: readonly number[];
  /** Of a core, by the main thread of the page. */
  readonly busyShare: number;
}

const bundleGoalBytes = 250_000;
const paintGoalMs = 2_000;
/** The page keeps 1,000 changes and an hour of charts. */
const growthGoalMegabytes = 20;
const paintRuns = 3;
const missing = "Chromium is missing: npm run test:page installs it";

/** Of the compressed files of the page. */
export function bundleFigures(): Figures {
  const files = readdirSync(pageFolder(), { recursive: true, withFileTypes: true });
  const bytes = files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name))).length)
    .reduce((sum, one) => sum + one, 0);
  return {
    bundleKilobytes: atMost(bytes / 1e3, bundleGoalBytes / 1e3, "kB", "all files, gzip"),
  };
}

export async function browserFigures(options: BrowserOptions): Promise<Figures> {
  if (!existsSync(chromiumPath)) return { frameP99: notMeasured("ms", missing) };
  const browser = await startBrowser();
  try {
    return {
      ...(await paintFigures(browser, options)),
      ...(await frameFigures(browser, options)),
      // Last: it takes half an hour, and depends least on what else the machine does.
      ...(await memoryFigures(browser, options)),
    };
  } finally {
    await browser.close();
  }
}

async function frameFigures(
  browser: Browser,
  { progress, quick, url, changesFor }: BrowserOptions,
): Promise<Figures> {
  const [turns, seconds] = quick ? [1, 10] : [3, 30];
  const live: Looked[] = [];
  const still: Looked[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    progress(`frames, turn ${turn} of ${turns}: a still page`);
    still.push(await look(browser, `${url}healthz`, () => changesFor(seconds)));
    progress(`frames, turn ${turn} of ${turns}: the view Now`);
    live.push(await look(browser, `${url}#/now`, () => changesFor(seconds)));
  }
  const of = (looks: readonly Looked[], share: number) =>
    percentile(
      looks.flatMap(({ frames }) => frames),
      share,
    );
  const busy = (looks: readonly Looked[]) =>
    (100 * looks.reduce((sum, { busyShare }) => sum + busyShare, 0)) / looks.length;
  return {
    frameP50: plain(of(live, 0.5), "ms", "between frames of the view Now while changes arrive"),
    frameP99: plain(of(live, 0.99), "ms", "the same"),
    stillFrameP50: plain(of(still, 0.5), "ms", "of a still page beside the same server"),
    stillFrameP99: plain(of(still, 0.99), "ms", "the same"),
    frameP99Ratio: atMost(of(live, 0.99) / of(still, 0.99), 3, "× a still page"),
    mainThreadShare: atMost(busy(live), 50, "% of a core", "main thread of the page"),
  };
}

async function look(browser: Browser, url: string, during: () => Promise<void>): Promise<Looked> {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    await page.goto(url);
    const session = await metricsOf(context, page);
    await page.evaluate(countFrames);
    const before = await metric(session, "TaskDuration");
    const startedAt = performance.now();
    await during();
    const seconds = (performance.now() - startedAt) / 1_000;
    const busySeconds = (await metric(session, "TaskDuration")) - before;
    const frames = (await page.evaluate("window.frameTimes")) as readonly number[];
    return { frames, busyShare: busySeconds / seconds };
  } finally {
    await context.close();
  }
}

/** Milliseconds between two frames; a minute of them at 60 a second has 3,600. */
const countFrames = `
window.frameTimes = [];
let last = performance.now();
requestAnimationFrame(function frame(now) {
  if (window.frameTimes.length < 100000) window.frameTimes.push(now - last);
  last = now;
  requestAnimationFrame(frame);
});`;

async function memoryFigures(
  browser: Browser,
  { progress, minutes, url, changesFor }: BrowserOptions,
): Promise<Figures> {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    await page.goto(`${url}#/now`);
    const session = await metricsOf(context, page);
    const heaps: number[] = [];
    for (let minute = 0; minute <= minutes; minute += 1) {
      progress(`memory of the page: minute ${minute} of ${minutes}`);
      if (minute > 0) await changesFor(60);
      await session.send("HeapProfiler.collectGarbage");
      heaps.push((await metric(session, "JSHeapUsedSize")) / 1e6);
    }
    // In the first minute the lists fill up.
    const [, filled = Number.NaN] = heaps;
    const last = heaps.at(-1) ?? Number.NaN;
    return {
      heapMegabytes: plain(last, "MB", `JavaScript heap after ${minutes} min of the view Now`),
      heapGrowth: atMost(last - filled, growthGoalMegabytes, "MB", "since the first minute"),
      domNodes: plain(await metric(session, "Nodes"), "nodes", "at the end"),
    };
  } finally {
    await context.close();
  }
}

/**
 * From the line with the address to the first content, while `lockstep up` starts its clusters. The
 * reference is the same page from a server that is idle.
 */
async function paintFigures(browser: Browser, { progress, url }: BrowserOptions): Promise<Figures> {
  const starting: number[] = [];
  const idle: number[] = [];
  for (let run = 1; run <= paintRuns; run += 1) {
    progress(`first paint, run ${run} of ${paintRuns}`);
    idle.push(await firstPaintMs(browser, async () => url));
    starting.push(await firstPaintOfUpMs(browser));
  }
  const note = `slowest of ${paintRuns} starts of lockstep up, from the line with the address`;
  return {
    firstPaint: atMost(Math.max(...starting), paintGoalMs, "ms", note),
    idleFirstPaint: plain(Math.max(...idle), "ms", "of the same page from an idle server"),
  };
}

async function firstPaintOfUpMs(browser: Browser): Promise<number> {
  const args = ["bin/lockstep.mjs", "up", "--page-port", "0"];
  const up = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    return await firstPaintMs(browser, () => printedAddress(up));
  } finally {
    up.kill("SIGINT");
    if (up.exitCode === null) await once(up, "exit");
  }
}

/** From the moment at which the address is known; the browser is open before. */
async function firstPaintMs(
  browser: Browser,
  addressKnown: () => Promise<string>,
): Promise<number> {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    const url = await addressKnown();
    const knownAt = Date.now();
    await page.goto(url);
    return ((await page.evaluate(paintTime)) as number) - knownAt;
  } finally {
    await context.close();
  }
}

/** Resolves to the wall time of the first contentful paint. */
const paintTime = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.name === "first-contentful-paint") {
        resolve(performance.timeOrigin + entry.startTime);
      }
    }
  }).observe({ type: "paint", buffered: true });
})`;

async function openContext(browser: Browser): Promise<BrowserContext> {
  const { width, height } = desktop;
  return await browser.newContext({ viewport: { width, height }, serviceWorkers: "block" });
}

async function metricsOf(context: BrowserContext, page: Page): Promise<CDPSession> {
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  return session;
}

async function metric(session: CDPSession, name: string): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find((one) => one.name === name)?.value ?? Number.NaN;
}
