// Judgements that hold for every view of the page: nothing in the console, no serious finding of axe-core,
// nothing wider than the screen, and figures equal to those of the API.
import axe from "axe-core";
import type { Page } from "playwright-core";
import type { State } from "../../src/server/api.ts";
import { count, duration } from "../../ui/src/format.ts";

/** The views with a text that only the filled view has. */
export const views: readonly (readonly [string, string])[] = [
  ["now", "section[aria-label='Requests lost']"],
  ["journeys", "table.journey-table"],
  ["services", "section[aria-label='Services'] table"],
  ["control-plane", "figure.chart canvas"],
  ["doctor", "section[aria-label='Examination']"],
  ["incidents", ".incident-list"],
  ["what-if", ".prediction"],
];

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Serious and critical violations, in words. */
export async function accessProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then((one) => one.violations)",
  )) as readonly AxeViolation[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}

/** The page is never wider than its screen; tables scroll in their own place. */
export async function widthBeyondScreen(page: Page): Promise<number> {
  return (await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  )) as number;
}

/** Lags of every hop and requests lost: as the view Now shows them, and as the API has them. */
export interface Figures {
  readonly shown: string;
  readonly answered: string;
}

/** Each attempt takes tens of milliseconds, and the state changes at most once a second. */
const attemptsMax = 200;

/** Read until both are of the same moment: the page is up to a second behind. */
export async function figuresOfBoth(page: Page, url: string): Promise<Figures> {
  for (let attempts = 1; ; attempts += 1) {
    const answer = await fetch(`${url}api/v1/state`);
    const answered = figuresOf((await answer.json()) as State);
    const shown = await shownFigures(page);
    if (shown === answered || attempts === attemptsMax) return { shown, answered };
  }
}

function figuresOf({ lags, requests, inFlight }: State): string {
  const rows = lags.map((row) =>
    [
      row.hop,
      row.kind,
      row.direction,
      ...[row.p50Ms, row.p99Ms, row.maxMs].map(duration),
      count(row.count),
    ].join(" "),
  );
  const lost = requests.sides.map(({ side, lost: ofSide }) => `${side} ${count(ofSide)}`);
  const flying = inFlight === 0 ? "none in flight" : `${count(inFlight)} in flight`;
  return [...rows.sort(), ...lost, flying].join("\n");
}

async function shownFigures(page: Page): Promise<string> {
  const rows = await page.locator("tr[data-hop]").all();
  const shown = await Promise.all(
    rows.map(async (row) => {
      const names = ["data-hop", "data-kind", "data-direction"];
      const about = await Promise.all(names.map((name) => row.getAttribute(name)));
      const cells = (await row.locator("td").allTextContents()).map((text) => text.trim());
      return [...about, cells[0], cells[1], cells[2], cells[4]].join(" ");
    }),
  );
  const sides = await page.locator(".now [data-side]").all();
  const lost = await Promise.all(
    sides.map(async (side) => {
      const value = await side.locator("b").textContent();
      return `${await side.getAttribute("data-side")} ${value}`;
    }),
  );
  const changes = (await page.locator("section[aria-label='Changes'] h2").textContent()) ?? "";
  const flying = /none in flight|[\d,]+ in flight/.exec(changes)?.[0] ?? "";
  return [...shown.sort(), ...lost, flying].join("\n");
}
