// `npm start -- --routes gateway` in a fresh checkout, and its page in a real browser: the story plays when the page opens, and
// an incident runs from its start to the named cause and the fix, on real proxies with real traffic. Stock
// loses requests, Lockstep does not.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { desktop, type OpenPage, openPage, startBrowser } from "../../tests/page/browser.ts";
import { accessProblems, figuresOfBoth } from "../../tests/page/page-judge.ts";
import { freshCheckout } from "../fresh-checkout.ts";
import { useOwnTemporaryFolder } from "../own-temporary-folder.ts";
import { nginxMaster, UpProcess } from "../up-process.ts";

/** An installation of modules, a story or an incident in real time, on a busy machine. */
const patienceMs = 900_000;

useOwnTemporaryFolder();

let browser: Browser;
let up: UpProcess;
let url: string;
let opened: OpenPage;

beforeAll(async () => {
  browser = await startBrowser();
  const flags = ["--no-incidents", "--page-port", "0", "--routes", "gateway"];
  up = UpProcess.startWithNpm(freshCheckout(), ...flags);
  await up.says(/^Page: \S+$/m);
  url = /^Page: (\S+)$/m.exec(up.output)?.[1] ?? "";
  opened = await openPage(browser, url, desktop);
  opened.page.setDefaultTimeout(patienceMs);
}, patienceMs);

afterAll(async () => {
  await browser?.close();
  await up?.ended("SIGTERM");
}, patienceMs);

it(
  "plays the story: the late hop, the cause and its fix, requests lost by stock alone",
  async () => {
    const { page } = opened;
    await page.getByLabel("The demonstration").waitFor();
    await page.locator(".verdict-late .copy-box").waitFor();
    await page.locator(".counter.stock.lost").waitFor();
    // A horizontal line has no height, which counts as hidden.
    const waiting = page.locator("tr[data-journey] .segment.waiting.late").first();
    await waiting.waitFor({ state: "attached" });
    expect(await page.locator(".counter.lockstep.lost").count()).toBe(0);
    expect(await accessProblems(page)).toEqual([]);
  },
  patienceMs,
);

it(
  "shows the figures of the API",
  async () => {
    const { shown, answered } = await figuresOfBoth(opened.page, url);
    expect(shown).toBe(answered);
  },
  patienceMs,
);

it(
  "shows where the sources of the shop disagree or agree, with the decision of Lockstep and the route",
  async () => {
    const { page } = opened;
    await page.goto(`${url}#/services/default/shop`);
    await page.locator("tr[data-endpoint] .chosen").first().waitFor();
    const head = page.locator("section[aria-label='Endpoints by source'] h2");
    expect(await head.textContent()).toContain("Lockstep follows pods");
    await page.getByText("Routed by HTTPRoute default/shop").waitFor();
  },
  patienceMs,
);

it(
  "says that a proxy was killed, and that it serves again",
  async () => {
    const { page } = opened;
    await page.goto(`${url}#/now`);
    await page.getByText("The demonstration is over").waitFor();
    const [, folder] = /^ *export KUBECONFIG=(\S+)\/kubeconfig$/m.exec(up.output) ?? [];
    const master = () => nginxMaster(`${folder}/lockstep-1`);
    const killed = master();
    process.kill(killed ?? 0, "SIGKILL");
    await page.getByText(/lockstep-1 serves again\. It did not for/).waitFor();
    await page.locator("[data-replica='lockstep-1'] .health.good").waitFor();
    expect(master()).toBeGreaterThan(0);
    expect(master()).not.toBe(killed);
  },
  patienceMs,
);

it(
  "guides through an incident by itself, from the fault to the count",
  async () => {
    const { page, problems } = opened;
    await page.goto(`${url}#/incidents`);
    await page.getByRole("button", { name: "One-minute tour" }).click();
    const tour = page.getByRole("complementary", { name: "Guided tour" });
    for (const title of ["The fault", "The path of each change", "The cause", "The fix"]) {
      await tour.getByText(`· ${title}`).waitFor();
    }
    await tour.getByText("· The count").waitFor();
    await tour.getByText(/stock \(model\) [1-9]\d*, Lockstep 0\./).waitFor();
    await tour.getByRole("button", { name: "End" }).click();
    await page.locator(".running[data-phase='ended']").waitFor();
    expect(problems).toEqual([]);
  },
  patienceMs,
);

it(
  "runs an incident from its start to the named cause and the fix",
  async () => {
    const { page, problems } = opened;
    await page.goto(`${url}#/now`);
    await page.getByText("The demonstration is over").waitFor();
    await page.keyboard.press("6");
    await page.locator("[data-incident='throttled-controller']").getByText("Start").click();
    await page.locator("[data-rule='client-throttling']").waitFor();
    await page
      .locator(".running [data-side='stock'].lost, .two [data-side='stock'].lost")
      .waitFor();
    await page.getByRole("button", { name: "Apply the fix" }).click();
    await page.locator(".running[data-phase='fixed']").waitFor();
    expect(await page.locator(".two [data-side='lockstep'] b").textContent()).toBe("0");
    expect(problems).toEqual([]);
  },
  patienceMs,
);
