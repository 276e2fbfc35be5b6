import { describe, expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { Environment } from "../../../environment/environment.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

interface Load {
  readonly waitSeconds: number;
  readonly queueSeconds: number;
}

const throttled: Load = { waitSeconds: 0.245, queueSeconds: 30 };
const quiet: Load = { waitSeconds: 0.001, queueSeconds: 0.01 };

/** A controller manager after so many syncs, as 1.29 shows itself. */
function page(syncs: number, { waitSeconds, queueSeconds }: Load): string {
  return `# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7e+09
process_cpu_seconds_total ${syncs / 100}
node_collector_unhealthy_nodes_in_zone{zone=""} 0
workqueue_depth{name="endpoint_slice"} ${queueSeconds * 20}
workqueue_work_duration_seconds_sum{name="endpoint_slice"} ${syncs * (waitSeconds + 0.004)}
workqueue_work_duration_seconds_count{name="endpoint_slice"} ${syncs}
workqueue_queue_duration_seconds_sum{name="endpoint_slice"} ${syncs * queueSeconds}
workqueue_queue_duration_seconds_count{name="endpoint_slice"} ${syncs}
rest_client_rate_limiter_duration_seconds_sum{host="10.0.0.1:6443",verb="PUT"} ${syncs * waitSeconds}
rest_client_rate_limiter_duration_seconds_count{host="10.0.0.1:6443",verb="PUT"} ${syncs}
rest_client_request_duration_seconds_sum{host="10.0.0.1:6443",verb="PUT"} ${syncs * (waitSeconds + 0.004)}
rest_client_request_duration_seconds_count{host="10.0.0.1:6443",verb="PUT"} ${syncs}
`;
}

/** 1.9: summaries of their own names, in microseconds, and no metric of the limit. */
function oldPage(syncs: number, { waitSeconds, queueSeconds }: Load): string {
  const workMicros = syncs * (waitSeconds + 0.004) * 1e6;
  return `# HELP endpoint_depth Current depth of workqueue: endpoint
# TYPE endpoint_depth gauge
endpoint_depth ${queueSeconds * 20}
process_start_time_seconds 1.5e+09
process_cpu_seconds_total ${syncs / 100}
endpoint_work_duration_sum ${workMicros}
endpoint_work_duration_count ${syncs}
endpoint_queue_latency_sum ${syncs * queueSeconds * 1e6}
endpoint_queue_latency_count ${syncs}
rest_client_request_latency_seconds_sum{url="https://10.0.0.1",verb="PUT"} ${syncs * 0.004}
rest_client_request_latency_seconds_count{url="https://10.0.0.1",verb="PUT"} ${syncs}
`;
}

type Files = Readonly<Record<string, string>>;

async function run(files: Files, serve: (host: Environment) => unknown, ...args: string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    for (const [path, content] of Object.entries(files)) {
      await environment.files.makeDirectory(path.slice(0, path.lastIndexOf("/")) || "/");
      await environment.files.write(path, content);
    }
    await serve(environment);
    return runProgram({ environment, terminal, stop }, "1.2.3", ["doctor", ...args]);
  });
  const out = terminal.out.includes("{") ? terminal.out.slice(terminal.out.indexOf("{")) : "{}";
  const { findings = [] } = JSON.parse(out) as { findings?: { rule: string }[] };
  return { code, rules: findings.map(({ rule }) => rule), out: terminal.out };
}

const nothing = (): undefined => undefined;
const json = ["--output", "json"];

describe("metrics as evidence", () => {
  test.each([
    ["two pages of 1.29, in any order", [page(2_400, throttled), page(1_200, throttled)]],
    ["two pages of 1.9", [oldPage(1_200, throttled), oldPage(2_400, throttled)]],
    ["one page, since the start of the process", [page(50_000, throttled)]],
    ["one page without its comments", [page(9, throttled).replaceAll(/^#.*\n/gm, "")]],
  ])("%s", async (_what, pages) => {
    const files = Object.fromEntries(pages.map((text, index) => [`/m/${index}.prom`, text]));
    const flags = pages.flatMap((_, index) => ["--metrics", `/m/${index}.prom`]);
    const found = await run(files, nothing, ...flags, ...json);
    expect(found).toMatchObject({ code: 1, rules: ["client-throttling"] });
    expect(found.out).not.toContain("NaN");
  });

  test("a quiet controller gives no finding", async () => {
    const files = { "/m/a.prom": page(1_200, quiet), "/m/b.prom": page(2_400, quiet) };
    expect(await run(files, nothing, "/m", ...json)).toMatchObject({ code: 0, rules: [] });
  });

  test("pages are found in folders, and two replicas are not mixed", async () => {
    const other = page(5, quiet).replace("1.7e+09", "1.6e+09");
    const at = (second: number) => `# read at 2026-11-18T10:00:0${second}Z\n`;
    const files = {
      "/s/metrics/kube-controller-manager/a-1.txt": at(0) + page(1_200, throttled),
      "/s/metrics/kube-controller-manager/a-2.txt": at(9) + page(1_400, throttled),
      "/s/metrics/kube-controller-manager/b-1.txt": at(0) + other,
    };
    const found = await run(files, nothing, "/s", ...json);
    expect(found.rules).toEqual(["client-throttling"]);
    expect(found.out).toContain("/s/metrics/kube-controller-manager/a");
  });

  test("a page is read twice from its address", async () => {
    let reads = 0;
    const found = await run(
      {},
      (host) =>
        host.network.listen({ host: "127.0.0.1", port: 10_257 }, (exchange) => {
          reads += 1;
          exchange.respond(200).end(Buffer.from(page(reads * 600, throttled)));
        }),
      "--metrics",
      "http://127.0.0.1:10257/metrics",
      "--for",
      "30s",
      ...json,
    );
    expect(found).toMatchObject({ code: 1, rules: ["client-throttling"] });
    expect(reads).toBe(2);
    // 600 syncs in 30 s, each of 249 ms.
    expect(found.out).toContain("at 20 syncs/s of 249 ms");
  });

  test("a Prometheus is asked for two times", async () => {
    const asked: URL[] = [];
    const found = await run(
      {},
      (host) =>
        host.network.listen({ host: "127.0.0.1", port: 9_090 }, (exchange) => {
          asked.push(new URL(exchange.request.target, "http://a"));
          const text = page(asked.length * 1_200, throttled);
          exchange.respond(200).end(Buffer.from(JSON.stringify(vectorOf(text))));
        }),
      "--metrics",
      "http://127.0.0.1:9090",
      "--for",
      "1m",
      ...json,
    );
    expect(found).toMatchObject({ code: 1, rules: ["client-throttling"] });
    const [from = 0, to = 0] = asked.map(({ searchParams }) => Number(searchParams.get("time")));
    expect([asked[0]?.pathname, to - from]).toEqual(["/api/v1/query", 60]);
  });

  test("an address that does not answer is reported", async () => {
    const found = await run({}, nothing, "--metrics", "http://127.0.0.1:1/metrics");
    expect(found.code).toBe(0);
    expect(found.out).toContain("http://127.0.0.1:1/metrics");
  });
});

/** The same samples as Prometheus answers with. */
function vectorOf(text: string): unknown {
  const result = [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = "", labels = "", value = ""]) => ({
      metric: {
        __name__: name,
        job: "kube-controller-manager",
        instance: "10.0.0.2:10257",
        ...Object.fromEntries(
          [...labels.matchAll(/(\w+)="([^"]*)"/g)].map((one) => one.slice(1, 3)),
        ),
      },
      value: [0, value],
    }),
  );
  return { status: "success", data: { resultType: "vector", result } };
}
