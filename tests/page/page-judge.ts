// Judgements that hold for every view of the page: nothing in the console, no serious finding of axe-core,
// nothing wider than the screen, and figures equal to those of the API.
import { setTimeout as sleep } from "node:timers/promises";
import axe from "axe-core";
import type { Page } from "playwright-core";
import type { State } from "../../src/server/api.ts";
import { age, count, duration } from "../../ui/src/format.ts";
import { isStart } from "../../ui/src/journey-path.ts";

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

/** Lags of every hop, requests lost and the verdict: as the view Now shows them, and as the API has them. */
export interface Figures {
  readonly shown: string;
  readonly answered: string;
}

/** The state changes at most once a second, and the page is up to a second behind. */
const attemptsMax = 600;
const betweenAttemptsMs = 100;

/** Read until both are of the same moment. */
export async function figuresOfBoth(page: Page, url: string): Promise<Figures> {
  for (let attempts = 1; ; attempts += 1) {
    const answer = await fetch(`${url}api/v1/state`);
    const answered = figuresOf((await answer.json()) as State);
    const shown = await shownFigures(page);
    if (shown === answered || attempts === attemptsMax) return { shown, answered };
    await sleep(betweenAttemptsMs);
  }
}

function figuresOf({ lags, requests, inFlight, verdict }: State): string {
  const rows = lags
    .filter((row) => !isStart(row))
    .map((row) => {
      const { hop, kind, direction, oldestPendingMs, pending } = row;
      const waiting =
        oldestPendingMs === null ? "–" : `${age(oldestPendingMs)} (${count(pending)})`;
      const lagTexts = [row.p50Ms, row.p99Ms, row.maxMs].map(duration);
      return [hop, kind, direction, ...lagTexts, waiting, count(row.count)].join(" ");
    });
  const lost = requests.sides.map(({ side, lost: ofSide }) => `${side} ${count(ofSide)}`);
  const flying = inFlight === 0 ? "none in flight" : `${count(inFlight)} in flight`;
  return [...rows.sort(), ...lost, flying, verdict.headline].join("\n");
}

/** In one step, so that all figures are of the same state. */
async function shownFigures(page: Page): Promise<string> {
  return (await page.evaluate(`(() => {
    const all = (selector, within = document) => [...within.querySelectorAll(selector)];
    const text = (selector, within) => within.querySelector(selector)?.textContent.trim() ?? "";
    const rows = all("tr[data-hop]").map((row) => {
      const { hop, kind, direction } = row.dataset;
      const cells = all("td", row).slice(0, 5).map((cell) => cell.textContent.trim());
      return [hop, kind, direction, ...cells].join(" ");
    });
    const lost = all(".now [data-side]").map((one) => one.dataset.side + " " + text("b", one));
    const changes = text("section[aria-label='Changes'] h2", document);
    const flying = /none in flight|[\\d,]+ in flight/.exec(changes)?.[0] ?? "";
    const headline = text(".verdict-text > :last-child", document);
    return [...rows.sort(), ...lost, flying, headline].join("\\n");
  })()`)) as string;
}
