// Alert rules and dashboard, judged by a real Prometheus that scrapes a `lockstep watch` beside a lab:
// every query runs and shows something, and a change that is really stuck raises an alarm that ends
// with it. The traces that are sent meanwhile are counted as well.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { runProgram } from "../src/cli/program.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { isRecord, listAt, recordAt } from "../src/kube/kinds/fields.ts";
import { PrometheusProcess, withoutPrometheus } from "./prometheus-process.ts";
import { ShopsWorld } from "./shops-world.ts";

const folder = new URL("../deploy/monitoring/", import.meta.url);
const rulesText = readFileSync(new URL("alerts.yaml", folder), "utf8");
const dashboard: unknown = JSON.parse(readFileSync(new URL("dashboard.json", folder), "utf8"));

/** Queries without figures here: there is no access log, and no ingress and no twins of Lockstep. */
const withoutData =
  /requests_after_leave|lockstep_(ingress|nginx|proxy|sync|assist)_|leader_election/;

/** Sooner than real alerts, so that the test need not wait. */
const impatient = rulesText
  .replaceAll(/for: \d+m/g, "for: 1s")
  .replace('direction="leave", hop!="traffic"}) > 60', 'direction="leave", hop!="traffic"}) > 1');

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

describe.skipIf(withoutPrometheus !== false)("with a real Prometheus", () => {
  let world: ShopsWorld;
  let prometheus: PrometheusProcess;
  let watch: WatchRun;

  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: 1, replicas: 3 });
    watch = await startWatch(world);
    const { target } = watch;
    // Prometheus takes five seconds to begin with its targets, with any configuration.
    prometheus = await PrometheusProcess.start(world, { target, rules: impatient });
  });

  afterAll(async () => await world?.stop());

  test("the alerts do minute by minute what their cases say", async () => {
    const { processes } = world.environment;
    const cases = new URL("alerts.test.yaml", folder).pathname;
    const run = await processes.run("promtool", ["test", "rules", cases], { timeoutMs: 240_000 });
    expect([run.code, run.output.trim().split(/\s+/).at(-1), run.errorOutput]).toEqual([
      0,
      "SUCCESS",
      "",
    ]);
  });

  test("a release is counted as the watch tells it, and sent as traces", async () => {
    const age = 'max(lockstep_observer_watch_age_seconds{watch="pods"}) < 60';
    await world.until("it is seen that pods are watched", async () => {
      return (await prometheus.query(age)).length > 0;
    });
    await world.roll("2");
    await world.released("2");
    const counted = async (hop: string, direction: string) => {
      const labels = `{hop="${hop}",direction="${direction}"}`;
      const [sample] = await prometheus.query(`sum(lockstep_journey_lag_seconds_count${labels})`);
      return sample?.value;
    };
    for (const hop of ["pod", "published"]) {
      for (const direction of ["join", "leave"]) {
        await world.until(`three times ${direction} at ${hop}`, async () => {
          return (await counted(hop, direction)) === 3;
        });
        expect(watch.shown(hop, direction)).toBe(3);
      }
    }
    await world.until("six traces are there", () => watch.roots() === 6);
  });

  test("every query of the dashboard runs, and shows what there is", async () => {
    const results = await Promise.all(
      dashboardQueries().map(async (query) => ({
        query,
        count: (await prometheus.query(query)).filter(({ value }) => !Number.isNaN(value)).length,
      })),
    );
    expect(results.length).toBeGreaterThan(15);
    const empty = results.filter(({ count }) => count === 0).map(({ query }) => query);
    expect(empty.filter((query) => !withoutData.test(query))).toEqual([]);
  });

  test("every rule is evaluated without an error, and every expression in it shows something", async () => {
    await world.until("all are evaluated", async () =>
      (await prometheus.rules()).every(({ health }) => health !== "unknown"),
    );
    const rules = await prometheus.rules();
    expect(rules.map(({ name, health, error }) => [name, health, error])).toEqual(
      rules.map(({ name }) => [name, "ok", ""]),
    );
    expect(rules.map(({ name }) => name).toSorted()).toEqual(ruleNames().toSorted());
    // On a busy machine the release itself was late enough for such impatient ones.
    await world.until("no alarm rings any more", async () =>
      (await prometheus.rules()).every(({ state }) => state !== "firing"),
    );
    const asked = selectors().filter((selector) => !withoutData.test(selector));
    for (const selector of asked) {
      expect([selector, (await prometheus.query(selector)).length]).not.toEqual([selector, 0]);
    }
  });

  test("a pod that left and is still published raises the alarm, which ends when it is not", async () => {
    const client = new HttpKubeClient({
      ...world.environment,
      cluster: world.access,
      userAgent: "e2e",
    });
    const [pod] = await world.pods();
    if (pod === undefined) throw new Error("the shop has pods");
    const stray = {
      metadata: { name: "stray", labels: { "kubernetes.io/service-name": pod.shop } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [
        { addresses: [pod.address], targetRef: { kind: "Pod", name: pod.name, uid: pod.uid } },
      ],
    };
    const path = `${slices}/stray`;
    const deadlineMs = 240_000;
    await client.request({ verb: "create", method: "POST", path: slices, body: stray, deadlineMs });
    await world.deletePod(pod);
    const alarm = async () =>
      (await prometheus.rules()).find(({ name }) => name === "LockstepLeaveNotShown");
    await world.until("the alarm fires", async () => (await alarm())?.state === "firing");
    const alerts = (await alarm())?.alerts ?? [];
    expect(
      alerts.map(({ summary, runbook }) => [summary.replace(/ \S+s ago/, " N ago"), runbook]),
    ).toEqual([
      [
        "A pod of lab-1 left N ago and published does not show it",
        "docs/runbooks/leave-not-shown.md",
      ],
    ]);
    await client.request({ verb: "delete", method: "DELETE", path, deadlineMs });
    await world.until("the alarm ends", async () => (await alarm())?.state === "inactive");
  });
});

interface WatchRun {
  /** Where its metrics are: `host:port`. */
  readonly target: string;
  /** How often a change of this direction was shown at this hop. */
  shown(hop: string, direction: string): number;
  /** Traces of whole journeys that have arrived. */
  roots(): number;
}

/** `lockstep watch` with all that it can keep; it ends with the world. */
async function startWatch(world: ShopsWorld): Promise<WatchRun> {
  const { environment, folder } = world;
  let traces = "";
  const receiver = await environment.network.listen(
    { host: "127.0.0.1", port: 0 },
    async (exchange) => {
      for await (const chunk of exchange.request.body) traces += Buffer.from(chunk).toString();
      exchange.respond(200).end(Buffer.from("{}"));
    },
  );
  const stop = new AbortController();
  const said: string[] = [];
  const lines: string[] = [];
  const terminal = {
    write: (text: string) => void lines.push(text),
    writeError: (text: string) => void said.push(text),
    pendingBytes: 0,
    interactive: false,
    colours: false,
    columns: 80,
    rows: 24,
  };
  const args = [
    ["watch", "--json", "--kubeconfig", await world.kubeconfigFile(), "--metrics-port", "0"],
    ["--history", `${folder}/history.db`, "--otlp", `http://127.0.0.1:${receiver.port}`],
  ];
  const running = runProgram({ environment, terminal, stop: stop.signal }, "0.0.0", args.flat());
  world.atStop(async () => {
    stop.abort(new Error("stopped by the test"));
    await running;
    await receiver.close();
  });
  let target: string | undefined;
  await world.until("it says where its metrics are", () => {
    target = /http:\/\/(127\.0\.0\.1:\d+)\/metrics/.exec(said.join(""))?.[1];
    return target !== undefined;
  });
  return {
    target: target ?? "",
    shown: (hop, direction) => shownIn(lines.join(""), hop, direction),
    roots: () => traces.split('"name":"endpoint ').length - 1,
  };
}

function shownIn(lines: string, hop: string, direction: string): number {
  const texts = lines.split("\n").filter((line) => line.startsWith('{"type":"shown"'));
  const events = texts.map((line): unknown => JSON.parse(line)).filter(isRecord);
  return events.filter(
    (event) => event["hop"] === hop && recordAt(event, "journey")["direction"] === direction,
  ).length;
}

/** With the variables as Grafana would fill them in. */
function dashboardQueries(): readonly string[] {
  const panels = isRecord(dashboard) ? listAt(dashboard, "panels").filter(isRecord) : [];
  const targets = panels.flatMap((panel) => ("targets" in panel ? listAt(panel, "targets") : []));
  return targets.filter(isRecord).map((target) =>
    String(target["expr"])
      // Longer than the test takes.
      .replaceAll("$__rate_interval", "10m")
      .replaceAll('=~"$cluster"', '=~".*"')
      .replaceAll('"$cluster"', '"lab-1"')
      .replaceAll("$hop", "published"),
  );
}

function rules(): readonly Readonly<Record<string, unknown>>[] {
  const file: unknown = parse(rulesText);
  const groups = isRecord(file) ? listAt(file, "groups").filter(isRecord) : [];
  return groups.flatMap((group) => listAt(group, "rules").filter(isRecord));
}

function ruleNames(): readonly string[] {
  return rules().map((rule) => String(rule["alert"] ?? rule["record"]));
}

/** Each metric that a rule asks for, with its labels and without what is made of it. */
function selectors(): readonly string[] {
  const expressions = rules().map((rule) => String(rule["expr"]));
  const found = expressions.join("\n").match(/\b(cluster_hop:)?lockstep_\w+(:\w+)?(\{[^}]*\})?/g);
  return [...new Set(found)];
}
