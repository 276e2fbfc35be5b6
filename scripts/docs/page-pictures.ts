// Pictures of the page for the documents, taken in Chromium from one run of `lockstep up`: every figure in
// them was measured in that run. Two browsers look at the same time, one light and one dark.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import {
  chromiumPath,
  desktop,
  openPage,
  phone,
  printedAddress,
  type Screen,
  startBrowser,
} from "../../tests/page/browser.ts";

const folder = "docs/pictures";
const dark: Screen = { ...desktop, theme: "dark" };
/** A story and an incident in real time, on a busy machine. */
const patienceMs = 600_000;

export async function takePictures(log: (line: string) => void): Promise<void> {
  if (!existsSync(chromiumPath)) {
    throw new Error("Chromium is missing: npm run test:page installs it");
  }
  const up = spawn(
    process.execPath,
    ["bin/lockstep.mjs", "up", "--no-incidents", "--page-port", "0"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const browser = await startBrowser();
  try {
    await takeAll(browser, await printedAddress(up), log);
  } finally {
    await browser.close();
    up.kill("SIGINT");
    if (up.exitCode === null) await once(up, "exit");
  }
}

async function takeAll(browser: Browser, url: string, log: (line: string) => void): Promise<void> {
  const pages = {
    dark: (await openPage(browser, url, dark)).page,
    light: (await openPage(browser, url, desktop)).page,
    phone: (await openPage(browser, url, phone)).page,
  };
  for (const page of Object.values(pages)) page.setDefaultTimeout(patienceMs);
  const take = async (page: Page, view: string, ready: string, name: string, fullPage = false) => {
    await page.goto(`${url}#/${view}`);
    await page.locator(ready).first().waitFor();
    await page.evaluate("document.fonts.ready");
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage });
    log(`  written: ${folder}/${name}.png`);
  };
  log("waiting for the release under a throttled controller and its cause");
  await pages.dark.locator(".verdict .copy-box").waitFor();
  await pages.dark.locator(".counter.stock.lost").waitFor();
  await pages.dark
    .getByText(/EndpointSlices 1\d s, waiting/)
    .first()
    .waitFor();
  await take(pages.dark, "now", ".verdict .copy-box", "page-now");
  await take(pages.light, "now", ".verdict .copy-box", "page-now-light");
  await take(pages.phone, "now", ".verdict .copy-box", "page-now-phone", true);
  await take(pages.light, "services/default/shop", "tr.disputed", "page-service");
  await take(pages.dark, "control-plane", "figure.chart canvas", "page-control-plane", true);
  await take(pages.light, "doctor", "[data-rule]", "page-doctor");
  log("waiting for the end of the demonstration");
  await pages.dark.goto(`${url}#/now`);
  await pages.dark.getByText("The demonstration is over").waitFor();
  await pages.light.goto(`${url}#/journeys?hop=published&minLagMs=2000`);
  await pages.light.locator("tr[data-journey] [data-row]").first().click();
  await pages.light.locator(".lanes").waitFor();
  await pages.light.screenshot({ path: `${folder}/page-journey.png` });
  await take(pages.light, "what-if", ".prediction", "page-what-if");
  await pages.dark.goto(`${url}#/incidents`);
  await pages.dark.locator("[data-incident='throttled-controller']").getByText("Start").click();
  log("waiting for the cause of the incident");
  await pages.dark.locator(".finding").getByText("certain:").waitFor();
  await pages.dark.locator(".two .counter.stock.lost").waitFor();
  // Then the charts show how the queue drains.
  await pages.dark.getByText(/started (?:1[2-9]|[2-9]\d) s ago|started \d+ min/).waitFor();
  await pages.dark.screenshot({ path: `${folder}/page-incident.png`, fullPage: true });
}
