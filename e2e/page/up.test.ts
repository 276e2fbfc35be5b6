// The page of `lockstep up` in a real browser: the story plays when the page opens, and an incident runs
// from its start to the named cause and the fix, on real proxies with real traffic.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { desktop, type OpenPage, openPage, startBrowser } from "../../tests/page/browser.ts";
import { accessProblems, figuresOfBoth } from "../../tests/page/page-judge.ts";
import { UpProcess } from "../up-process.ts";

/** A story and an incident in real time, on a busy machine. */
const patienceMs = 900_000;

let browser: Browser;
let up: UpProcess;
let url: string;
let opened: OpenPage;

beforeAll(async () => {
  browser = await startBrowser();
  up = new UpProcess("--no-incidents", "--page-port", "0");
  await up.says(/http:\/\/\S+/);
  url = /http:\/\/\S+/.exec(up.output)?.[0] ?? "";
  opened = await openPage(browser, url, desktop);
  opened.page.setDefaultTimeout(patienceMs);
});

afterAll(async () => {
  await browser.close();
  await up.ended("SIGINT");
});

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
  "shows where the sources of the shop disagree or agree, with the decision of Lockstep",
  async () => {
    const { page } = opened;
    await page.goto(`${url}#/services/default/shop`);
    await page.locator("tr[data-endpoint] .chosen").first().waitFor();
    const head = page.locator("section[aria-label='Endpoints by source'] h2");
    expect(await head.textContent()).toContain("Lockstep follows pods");
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
