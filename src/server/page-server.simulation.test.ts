import fc from "fast-check";
import { expect, test } from "vitest";
import { expectFit } from "../../tests/page/page-client.ts";
import { onPageStage } from "../../tests/page/page-stage.ts";
import { WatchTally } from "../cli/commands/watch/tally.ts";
import { type Journeys, Problem, type State } from "./api.ts";
import { routes } from "./page-routes.ts";

const slowMs = 2_000;

test("the figures of the state are those of lockstep watch over the same events", () =>
  onPageStage(
    { replicas: () => [replica("r1", "lockstep"), replica("r2", "stock")] },
    async ({ client, happen, events, environment }) => {
      const examples = fc.sample(changes, { numRuns: 400, seed: 7 });
      for (const fields of examples) {
        happen(fields);
        await environment.timers.sleep(50);
      }
      const tally = new WatchTally({ slowMs });
      for (const event of events) tally.onEvent(event);
      const state = await client.get<State>("/api/v1/state");
      expect([state.changes, state.inFlight, state.stuck]).toEqual([
        tally.changes,
        tally.inFlight.size,
        tally.inFlight.stuck,
      ]);
      for (const hop of ["pod", "published", "routed"] as const) {
        for (const direction of ["join", "leave"] as const) {
          const rows = state.lags.filter((row) => row.hop === hop && row.direction === direction);
          const figures = tally.lags(hop, direction);
          const sum = rows.reduce((total, { count }) => total + count, 0);
          expect([hop, direction, sum]).toEqual([hop, direction, figures?.count ?? 0]);
          const longest = Math.max(...rows.map(({ maxMs }) => maxMs ?? 0));
          expect(longest).toBe(figures?.maxMs ?? 0);
          // Only `routed` has a row for each kind.
          const medians = hop === "routed" ? [] : rows.map(({ p50Ms }) => p50Ms);
          const wanted = hop === "routed" ? [] : [figures?.quantileMs(0.5)];
          expect(medians).toEqual(wanted);
        }
      }
      expect(new Set(state.lags.map(({ kind }) => kind))).toEqual(
        new Set(["", "lockstep", "stock"]),
      );
    },
  ));

const lag = fc.oneof(fc.nat({ max: 5_000 }), fc.constantFrom("pending" as const, "stuck" as const));

const changes = fc
  .record({
    direction: fc.constantFrom("join" as const, "leave" as const),
    published: lag,
    first: lag,
    second: lag,
    isSuperseded: fc.boolean(),
  })
  .map(({ direction, published, first, second, isSuperseded }) => {
    const isShown = [published, first, second].every((one) => typeof one === "number");
    const open = isSuperseded ? ("superseded" as const) : ("pending" as const);
    return {
      direction,
      outcome: isShown ? ("complete" as const) : open,
      hops: { pod: 0, published, routed: [first, second] },
    };
  });

function replica(name: string, kind: "lockstep" | "stock") {
  return { name, kind, state: "connected" as const, reportedAt: null, problem: null };
}

test("pages of the list follow each other without a gap or a repetition, while new ones come", () =>
  onPageStage({}, async ({ client, happen, environment }) => {
    for (let one = 0; one < 95; one += 1) {
      happen({ service: one % 2 === 0 ? "shop/web" : "shop/cart" });
      if (one % 3 === 0) await environment.timers.sleep(10);
    }
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const before: string = next === "" ? "" : `&before=${encodeURIComponent(next)}`;
      const path = `/api/v1/journeys?service=shop/web&limit=10${before}`;
      const page: Journeys = await client.get<Journeys>(path);
      seen.push(...page.journeys.map(({ id }) => id));
      next = page.next;
      happen({ service: "shop/web" });
      await environment.timers.sleep(5);
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(48);
  }));

test.each([
  ["service=shop/web", ["run-1", "run-2"]],
  ["direction=join", ["run-3"]],
  ["cause=ready", ["run-3"]],
  ["outcome=pending", ["run-2"]],
  ["minLagMs=3000", ["run-2", "run-3"]],
  ["hop=routed&minLagMs=3000", []],
  ["hop=routed", ["run-3"]],
  ["cluster=beta", ["run-3"]],
  ["id=run-1", ["run-1"]],
])("the list of %s", (query, ids) =>
  onPageStage({}, async ({ client, happen, environment }) => {
    happen({ service: "shop/web" });
    happen({ service: "shop/web", outcome: "pending", hops: { pod: 0, published: "pending" } });
    happen({
      service: "shop/cart",
      cluster: "beta",
      direction: "join",
      cause: "ready",
      hops: { pod: 0, published: 3_100, routed: [20] },
    });
    await environment.timers.sleep(3_500);
    const { journeys } = await client.get<Journeys>(`/api/v1/journeys?${query}`);
    expect(journeys.map(({ id }) => id).sort()).toEqual(ids);
  }),
);

test.each([
  ["/api/v1/journeys?limit=0", /^400 The query: limit/],
  ["/api/v1/journeys?limit=1e9", /^400 The query: limit/],
  ["/api/v1/journeys?limit=ten", /^400 /],
  ["/api/v1/journeys?limit=", /^400 /],
  ["/api/v1/journeys?hop=moon", /^400 The query: hop/],
  ["/api/v1/journeys?minLagMs=-1", /^400 /],
  ["/api/v1/journeys?minLagMs=NaN", /^400 /],
  ["/api/v1/journeys?before=x", /^400 before must be/],
  ["/api/v1/journeys?before=1e400_x", /^400 before must be/],
  ["/api/v1/journeys?limit=1&limit=2", /^400 limit is given twice/],
  ["/api/v1/journeys?colour=red", /^400 The query has an unknown name/],
  ["/api/v1/journeys?__proto__=1", /^400 The query has an unknown name/],
  ["/api/v1/journeys?constructor=1", /^400 The query has an unknown name/],
  [`/api/v1/journeys?service=${"x".repeat(600)}`, /^400 The query: service/],
  [`/api/v1/journeys?service=${"x".repeat(6_000)}`, /^414 /],
  ["/api/v1/state?x=1", /^400 /],
  ["/api/v1/services/..%2f/x", /^404 /],
  ["/api/v1/services/%00/x", /^404 /],
  ["/api/v1/services/%zz/x", /^404 /],
  [`/api/v1/services/shop/${"x".repeat(300)}`, /^404 /],
  ["/api/v2/state", /^404 /],
])("%s is refused with a sentence", (path, sentence) =>
  onPageStage({}, async ({ client }) => {
    expect(await client.problem("GET", path)).toMatch(sentence);
  }),
);

test.each([
  ["/api/v1/whatif", "{", /^400 The body is not JSON/],
  ["/api/v1/whatif", "[]", /^400 /],
  ["/api/v1/whatif", '{"version":1,"values":{}}', /^400 The body: version/],
  ["/api/v1/whatif", `{"version":"1.7","values":{"a":"b"}}`, /^400 The body: values/],
  ["/api/v1/whatif", `{"version":"1.7","values":{}${" ".repeat(17_000)}}`, /^413 /],
  ["/api/v1/incidents", '{"action":"explode","name":"x"}', /^400 The body: action/],
  ["/api/v1/incidents", '{"action":"start"}', /^400 /],
])("the body of %s: %s", (path, body, sentence) =>
  onPageStage({}, async ({ client }) => {
    const headers = { "content-type": "application/json" };
    expect(await client.problem("POST", path, { headers, body })).toMatch(sentence);
  }),
);

test("whatever is asked, the answer is a sentence or fits its schema, and the server goes on", () =>
  onPageStage({}, async ({ client, happen }) => {
    happen({});
    const text = fc.oneof(
      fc.string({ maxLength: 20 }).map(encodeURIComponent),
      fc.stringMatching(/^[\w%./?=&-]{0,30}$/),
    );
    const asked = fc.record({
      path: fc.oneof(
        fc.constantFrom(...routes.map((route) => route.path)),
        text.map((one) => `/api/v1/${one}`),
        text.map((one) => `/${one}`),
      ),
      query: text,
    });
    for (const { path, query } of fc.sample(asked, { numRuns: 300, seed: 11 })) {
      const target = `${path}?${query}`;
      if (target.startsWith("/api/v1/events")) continue;
      const { status, text: answer } = await client.send("GET", target.replaceAll(/[{}]/g, "x"));
      if (status === 200) continue;
      expect(status, `${target}`).toBeLessThan(500);
      expectFit(Problem, JSON.parse(answer));
    }
    await client.get("/api/v1/state");
  }));

test("the document of the API has every path", () =>
  onPageStage({}, async ({ client }) => {
    const { paths } = await client.get<{ paths: Record<string, object> }>("/api/v1/openapi.json");
    const own = routes.map(({ path }) => path);
    expect(Object.keys(paths).sort()).toEqual(
      [...new Set([...own, "/api/v1/events", "/healthz"])].sort(),
    );
  }));
