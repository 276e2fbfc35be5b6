// `lockstep serve` on clusters that it did not start, in a real browser: every view, the figures of the
// API, and a cluster that goes away while the page is open.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createShop, releaseShop } from "../../src/lab/shop.ts";
import {
  desktop,
  type OpenPage,
  openPage,
  printedAddress,
  startBrowser,
} from "../../tests/page/browser.ts";
import { accessProblems, figuresOfBoth, views } from "../../tests/page/page-judge.ts";
import { clientOfLab, type LabProcess, startLabProcess, stopAllLabs } from "../lab-process.ts";

/** A release in real time, on a busy machine. */
const patienceMs = 300_000;

let browser: Browser;
let lab: LabProcess;
let client: KubeClient;
let serve: ChildProcess;
let url = "";
let opened: OpenPage;

beforeAll(async () => {
  browser = await startBrowser();
  lab = await startLabProcess("--clusters", "2");
  client = await clientOfLab(lab);
  await createShop(client, { strategy: { rollingUpdate: { maxSurge: "100%" } } });
  const args = [
    "serve",
    "--kubeconfig",
    lab.kubeconfig,
    "--all-contexts",
    "--listen",
    "127.0.0.1:0",
  ];
  serve = spawn(process.execPath, ["bin/lockstep.mjs", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  url = await printedAddress(serve);
  opened = await openPage(browser, url, desktop);
  opened.page.setDefaultTimeout(patienceMs);
}, patienceMs);

afterAll(async () => {
  await browser.close();
  serve.kill("SIGINT");
  if (serve.exitCode === null) await once(serve, "exit");
  await stopAllLabs();
});

it(
  "shows a release, with the figures of the API",
  async () => {
    const { page } = opened;
    await page.locator("[data-cluster='lab-1'] .health.good").waitFor();
    await releaseShop(client, "first");
    // A horizontal line has no height, which counts as hidden.
    const published = page.locator("tr[data-journey] .segment.published").first();
    await published.waitFor({ state: "attached" });
    await page.getByText("none in flight").waitFor();
    const { shown, answered } = await figuresOfBoth(page, url);
    expect(shown).toBe(answered);
  },
  patienceMs,
);

const own = views.filter(([name]) => name !== "incidents" && name !== "what-if");

it.each([...own, ["services/default/shop", ".truth"] as const])(
  "fills the view %s",
  async (view, filled) => {
    const { page } = opened;
    await page.goto(`${url}#/${view}`);
    await page.locator(filled).first().waitFor();
    expect(await accessProblems(page)).toEqual([]);
    expect(await page.getByRole("navigation").getByText("Incidents").count()).toBe(0);
  },
  patienceMs,
);

it(
  "examines the clusters on request, and says which causes are ruled out",
  async () => {
    const { page } = opened;
    await page.goto(`${url}#/doctor`);
    await page.getByText("The doctor looks when you ask").waitFor();
    await page.getByRole("button", { name: "Examine now" }).click();
    const ruledOut = page.locator("section[aria-label='Ruled out'] li").first();
    await ruledOut.waitFor();
    const answer = await fetch(`${url}api/v1/doctor`);
    const doctor = (await answer.json()) as { readonly ruledOut: readonly string[] };
    expect(await ruledOut.textContent()).toBe(doctor.ruledOut[0]);
  },
  patienceMs,
);

it(
  "charts the control plane that it did not start, through the pods of its controller manager",
  async () => {
    const { page } = opened;
    await page.goto(`${url}#/control-plane`);
    for (const chart of [
      "queue",
      "requests of the controller manager",
      "writes of endpoints",
      "heartbeats",
      "leader lock",
    ]) {
      await page.locator(`[data-chart^='control-plane ${chart}'] canvas`).first().waitFor();
    }
    const queue = page.locator("[data-chart^='control-plane queue']");
    await queue.getByText("Keys in the endpoint queues").waitFor();
    const missing = page.locator("section[aria-label='Charts that are missing']");
    expect(await missing.textContent()).not.toContain("no permission");
  },
  patienceMs,
);

it(
  "says which cluster cannot be reached, and stays",
  async () => {
    const { page, problems } = opened;
    await page.goto(`${url}#/now`);
    await lab.stop();
    await page.locator("[data-cluster='lab-1'] .health:not(.good)").waitFor();
    expect(problems).toEqual([]);
  },
  patienceMs,
);
