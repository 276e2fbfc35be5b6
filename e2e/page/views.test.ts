// The page in a real browser, with fixed answers: every view, both themes, a phone, and the states that a
// lab reaches rarely.
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AnsweringServer } from "../../tests/page/answering-server.ts";
import {
  desktop,
  type OpenPage,
  openPage,
  phone,
  type Screen,
  startBrowser,
} from "../../tests/page/browser.ts";
import { doctorAt, journeysAt, truthAt } from "../../tests/page/page-answers.ts";
import {
  accessProblems,
  figuresOfBoth,
  views,
  widthBeyondScreen,
} from "../../tests/page/page-judge.ts";

let browser: Browser;
let server: AnsweringServer;
const open: OpenPage[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
});
beforeEach(async () => {
  server = new AnsweringServer();
  await server.start();
});
afterEach(async () => {
  for (const { context } of open.splice(0)) await context.close();
  await server.stop();
});

async function visit(path: string, screen: Screen = desktop): Promise<OpenPage> {
  const opened = await openPage(browser, `${server.url}#/${path}`, screen);
  open.push(opened);
  return opened;
}

const dark: Screen = { ...desktop, theme: "dark" };
const wall: Screen = { theme: "dark", width: 2560, height: 1440 };
const all = [...views, ["services/shop/web", ".truth"], ["journeys/2", ".lanes"]] as const;

describe.each([
  ["light", desktop],
  ["dark", dark],
  ["phone", phone],
  ["wall", wall],
] as const)("on a %s screen", (_, screen) => {
  it.each(all)("the view %s is filled, readable and quiet", async (path, filled) => {
    const { page, problems } = await visit(path, screen);
    await page.locator(filled).first().waitFor();
    expect(await accessProblems(page)).toEqual([]);
    expect(await widthBeyondScreen(page)).toBe(0);
    expect(problems).toEqual([]);
  });
});

it("shows the figures of the API", async () => {
  const { page } = await visit("now");
  await page.locator("tr[data-hop]").first().waitFor();
  const { shown, answered } = await figuresOfBoth(page, server.url);
  expect(shown).toBe(answered);
});

it("marks a lag as late from --slow on", async () => {
  server.adjust = (state) => ({ ...state, slowMs: 600_000 });
  const { page } = await visit("journeys");
  await page.locator("tr[data-journey] .segment").first().waitFor({ state: "attached" });
  const late = () => page.locator("tr[data-journey] .segment.late").count();
  expect(await late()).toBe(0);
  const slow = page.locator("option", { hasText: "(slow)" });
  expect(await slow.textContent()).toBe("at least 10 min (slow)");
  server.adjust = (state) => state;
  server.send("state", server.state());
  await expect.poll(late).toBeGreaterThan(0);
  expect(await slow.textContent()).toBe("at least 2 s (slow)");
});

it("says in the verdict since when, why and what to do", async () => {
  const { page } = await visit("now");
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.locator(".copy-box").waitFor();
  expect(await verdict.textContent()).toMatch(
    /EndpointSlices late.*behind EndpointSlices.*Since\d+:\d+:\d+ 1 min ago.*Why.*throttled at 20.*What to do--kube-api-qps=300/s,
  );
});

it("says that it is disconnected, keeps the figures, and resumes where it was", async () => {
  const { page } = await visit("now");
  await page.getByText("5 in flight").waitFor();
  await server.stop();
  const alert = page.getByRole("alert");
  await alert.getByText(/Disconnected for \d[\d.]* s/).waitFor();
  await page.getByText("5 in flight").waitFor();
  // Nothing is known of a change that waited then, so its age stands still.
  const waiting = await page.locator("tr[data-journey] .label").allTextContents();
  await alert.getByText(/Disconnected for (?:[3-9]|\d\d)[\d.]* s/).waitFor();
  expect(await page.locator("tr[data-journey] .label").allTextContents()).toEqual(waiting);
  server.adjust = (state) => ({ ...state, inFlight: 0, stuck: 0 });
  await server.start();
  await page.getByText("none in flight").waitFor();
  await page.getByRole("alert").waitFor({ state: "detached" });
  expect(server.resumedFrom).toEqual([undefined, "1"]);
});

it("says that it is stale when nothing arrives on an open connection", async () => {
  const { page } = await visit("now");
  await page.clock.install();
  await page.reload();
  await page.getByText("5 in flight").waitFor();
  await page.clock.runFor("00:30");
  await page.getByRole("alert").getByText("Stale: nothing received for").waitFor();
  server.send("state", server.state());
  await expect.poll(() => page.getByRole("alert").count()).toBe(0);
});

it("asks for a token where the server does, and shows the page when it lets it in", async () => {
  server.refusal = { status: 401, error: "A token is needed." };
  const { page } = await visit("now");
  await page.getByText("This page needs a token").waitFor();
  await page.getByText("?token=").waitFor();
  expect(await page.getByText("5 in flight").count()).toBe(0);
  server.refusal = undefined;
  await page.getByText("5 in flight").waitFor();
});

it("says what failed and tries again on request", async () => {
  server.failing.add("/api/v1/services");
  const { page } = await visit("services");
  await page.getByText("Cannot read the services").waitFor();
  expect(await page.getByRole("alert").textContent()).toContain("It failed for this test.");
  server.failing.clear();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "shop/web" }).waitFor();
});

it("says what to do when there is nothing to show", async () => {
  server.adjust = (state) => ({
    ...state,
    mode: "clusters",
    clusters: [],
    replicas: [],
    lags: [],
    inFlight: 0,
    stuck: 0,
    requests: { ...state.requests, sides: [] },
    can: { incidents: false, whatif: false, doctor: false, recordings: false },
  });
  server.journeys = () => [];
  const { page } = await visit("now");
  await page.getByText("No change yet").waitFor();
  await page.getByText("No cluster is watched").waitFor();
  await page.getByText("no access log is read").waitFor();
  expect(await page.getByRole("navigation").getByText("Incidents").count()).toBe(0);
  await page.goto(`${server.url}#/incidents`);
  await page.getByText("Incidents run in the lab only").waitFor();
});

it("shows on the path the age that the verdict names, not that of the other direction", async () => {
  server.adjust = (state) => ({
    ...state,
    lags: state.lags.map((row) =>
      row.hop === "published" && row.direction === "join"
        ? { ...row, oldestPendingMs: 50_000 }
        : row,
    ),
  });
  const { page } = await visit("now");
  await page.locator(".verdict-text").getByText("waited for 41 s").waitFor();
  const clock = page.locator(".verdict .hop.published .hop-clock");
  await expect.poll(() => clock.textContent()).toBe("▲ 41 s");
});

it("counts failed requests to removed pods where access logs are read", async () => {
  server.adjust = (state) => ({
    ...state,
    mode: "clusters",
    requests: { ...state.requests, sides: [] },
    toRemoved: { requests: 1_240, failed: 17 },
  });
  const { page } = await visit("now");
  const lost = page.locator("section[aria-label='Requests lost'] .counter.lost");
  await expect.poll(() => lost.textContent()).toBe("17failedof 1,240 to pods that had left");
});

it("says that the lab starts, without advice for other clusters", async () => {
  server.adjust = (state) => ({
    ...state,
    mode: "lab",
    clusters: [],
    replicas: [],
    requests: { ...state.requests, sides: [] },
  });
  const { page } = await visit("now");
  await page.getByText("The clusters of the lab appear").waitFor();
  await page.getByText("The proxies of the lab start").waitFor();
  await page.getByText("counted when the traffic of the lab starts").waitFor();
  expect(await page.getByText(/--(?:context|proxy|access-log)/).count()).toBe(0);
});

it("opens a shared link to one change with its filters", async () => {
  const { page } = await visit("journeys/2?service=shop/web");
  await page.locator(".lanes").getByText("stock-3").waitFor();
  expect(await page.getByLabel("service").inputValue()).toBe("shop/web");
  expect(await page.locator("tr[data-journey]").count()).toBe(7);
  await page.goto(`${server.url}#/journeys/gone`);
  await page.getByText("This change is no longer kept").waitFor();
});

it("shows the list before the filters on a phone, unless the link has a filter", async () => {
  const { page } = await visit("journeys", phone);
  await page.locator("tr[data-journey]").first().waitFor();
  const cluster = page.getByLabel("cluster");
  expect(await cluster.isVisible()).toBe(false);
  await page.getByRole("button", { name: "more filters" }).click();
  await cluster.selectOption("alpha");
  await page.getByRole("button", { name: "fewer filters" }).click();
  expect([await cluster.isVisible(), page.url().endsWith("?cluster=alpha")]).toEqual([false, true]);
  await page.reload();
  await cluster.waitFor();
});

it("marks a replica that still uses an endpoint that the decision no longer has", async () => {
  server.truth = (now) => {
    const table = truthAt(now);
    const rows = table.rows.map((row) => (row.isDisputed ? { ...row, state: null } : row));
    return { ...table, rows };
  };
  const { page } = await visit("services/shop/web");
  const disputed = page.locator("tr.disputed");
  await disputed.first().waitFor();
  expect(await disputed.locator(".mark.in").count()).toBeGreaterThan(0);
  expect(await disputed.locator(".mark.in:not(.late)").count()).toBe(0);
});

it("keeps the row under the pointer where it is, and shows new ones afterwards", async () => {
  const { page } = await visit("journeys");
  const row = page.locator("tr[data-journey='4']");
  await row.hover();
  const before = await row.boundingBox();
  const [sample] = journeysAt(Date.now());
  server.send("journeys", {
    journeys: [{ ...sample, id: "new", address: "127.29.0.99", originMs: Date.now() }],
    leftOut: 0,
  });
  await page.getByText("1 new change above").waitFor();
  expect(await row.boundingBox()).toEqual(before);
  await page.mouse.move(2, 2);
  const first = page.locator("tr[data-journey]").first();
  await expect.poll(() => first.getAttribute("data-journey")).toBe("new");
});

it("works by keyboard", async () => {
  const { page } = await visit("now");
  await page.locator("tr[data-journey]").first().waitFor();
  await page.keyboard.press("2");
  await page.getByRole("search").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.locator(".lanes").waitFor();
  expect(page.url()).toContain("#/journeys/8");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("shop/cart");
  await expect.poll(() => page.url()).toContain("service=shop/cart");
  await page.keyboard.press("Escape");
  const theme = () => page.locator("html").getAttribute("data-theme");
  expect(await theme()).toBe("light");
  await page.keyboard.press("t");
  expect(await theme()).toBe("dark");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
});

it("runs an incident from its start to the named cause and the fix", async () => {
  const { page, problems } = await visit("incidents");
  const card = page.locator("[data-incident='throttled-controller']");
  await card.getByText("in the running clusters").waitFor();
  expect(await page.getByText("in simulated time", { exact: true }).count()).toBe(4);
  await card.getByText("Start").click();
  await page.locator("[data-rule='client-throttling']").waitFor();
  await page.getByRole("button", { name: "Apply the fix" }).click();
  await page.locator(".running[data-phase='fixed']").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator(".running").waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("guides through an incident", async () => {
  const { page } = await visit("incidents");
  await page.getByRole("button", { name: "One-minute tour" }).click();
  const tour = page.getByRole("complementary", { name: "Guided tour" });
  for (const title of ["The path of each change", "The cause", "The fix", "The count"]) {
    await tour.getByRole("button", { name: "Next" }).click();
    await tour.getByText(title).waitFor();
  }
  expect(await tour.textContent()).toContain("stock (model) 180, Lockstep 0");
});

it("predicts again when a slider moves, and the link has the question", async () => {
  const { page } = await visit("what-if");
  const drain = page.locator("[data-figure='drain'] dd");
  await expect.poll(() => drain.textContent()).toContain("80.0 s");
  await page.locator("[data-input='qps'] input").focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => drain.textContent()).not.toContain("80.0 s");
  expect(page.url()).toMatch(/qps=\d+/);
});

it("replays a recording and shows the changes as they were", async () => {
  const { page } = await visit("journeys");
  await page.locator("input[type='file']").setInputFiles({
    name: "release.recording",
    mimeType: "application/octet-stream",
    buffer: Buffer.from("any"),
  });
  await page.getByText("Recording release.recording").waitFor();
  expect(await page.locator("tr[data-journey]").count()).toBe(9);
  const slider = page.getByRole("slider", { name: "time in the recording" });
  await slider.fill("1200");
  await expect.poll(() => page.locator("tr[data-journey]").count()).toBe(2);
  await slider.fill("0");
  await page.getByText("No change until this time").waitFor();
});

it("replays a recording that is dropped onto the page", async () => {
  const { page } = await visit("now");
  await page.locator("tr[data-journey]").first().waitFor();
  const dataTransfer = await page.evaluateHandle(`(() => {
    const dropped = new DataTransfer();
    dropped.items.add(new File(["any"], "dropped.recording"));
    return dropped;
  })()`);
  await page.dispatchEvent("main", "dragover", { dataTransfer });
  await page.getByText("Drop a recording").waitFor();
  await page.dispatchEvent("main", "drop", { dataTransfer });
  await page.getByText("Recording dropped.recording").waitFor();
  expect(page.url()).toContain("#/recording");
});

/** Nodes that a browser lays out again with every new figure without a pause that a person notices. */
const nodesMax = 20_000;

it("stays small with 100,000 endpoints and thousands of changes in flight", async () => {
  const [sample] = journeysAt(Date.now());
  if (sample === undefined) throw new Error("there is no journey");
  server.journeys = (now) =>
    Array.from({ length: 2_000 }, (_, index) => {
      return { ...sample, id: `many-${index}`, originMs: now - index, outcome: "pending" as const };
    });
  server.truth = (now) => {
    const table = truthAt(now);
    const [row] = table.rows;
    if (row === undefined) throw new Error("there is no endpoint");
    const rows = Array.from({ length: 1_000 }, (_, index) => {
      const address = `10.0.${index >> 8}.${index & 255}`;
      return { ...row, address, isDisputed: index < 3 };
    });
    return { ...table, rows, endpoints: 100_000, disagreements: 3 };
  };
  const { page, problems } = await visit("now");
  const nodes = () => page.evaluate("document.getElementsByTagName('*').length");
  await page.locator("tr[data-journey]").first().waitFor();
  expect(await page.locator("tr[data-journey]").count()).toBeLessThan(20);
  expect(await nodes()).toBeLessThan(nodesMax);
  await page.goto(`${server.url}#/services/shop/web`);
  await page.getByText("100,000 endpoints").waitFor();
  const rows = page.locator("tr[data-endpoint]");
  expect([await rows.count(), await page.locator("tr.disputed").count()]).toEqual([200, 3]);
  expect(await nodes()).toBeLessThan(nodesMax);
  await page.getByRole("button", { name: "Show 200 more" }).click();
  await expect.poll(() => rows.count()).toBe(400);
  await page.getByLabel("only disagreements (3)").check();
  await expect.poll(() => rows.count()).toBe(3);
  await page.goto(`${server.url}#/journeys`);
  await page.locator("tr[data-journey]").first().waitFor();
  expect(await nodes()).toBeLessThan(nodesMax);
  expect(problems).toEqual([]);
});

it("says that nothing was examined before the doctor is asked", async () => {
  const detail = "client-throttling was found and fixed. The clusters were not examined since.";
  const lists = { findings: [], ruledOut: [], notExamined: [] };
  const nothing = { ...lists, examinedAt: null, markdown: "", detail };
  server.doctor = (now) => ({ ...doctorAt(now), ...nothing });
  server.adjust = (state) => ({ ...state, findings: 0, verdict: { ...state.verdict, rule: null } });
  const { page } = await visit("now");
  await page.getByRole("region", { name: "Findings" }).getByText(detail).waitFor();
  await page.goto(`${server.url}#/doctor`);
  await page.getByText("The doctor looks when you ask").waitFor();
  // There is nothing to copy.
  expect(await page.getByRole("button", { name: "copy as Markdown" }).count()).toBe(0);
  expect(await page.getByText("Ruled out").count()).toBe(0);
});
