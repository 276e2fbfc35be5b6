import { describe, expect, test } from "vitest";
import { at, pod, service, slice } from "../../../../tests/blame/blame-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { Files } from "../../../environment/files.ts";
import type { RecordedKindName } from "../../../recording/recorded-kinds.ts";
import { aliveLine, changeLine, listedLine, runLine } from "../../../recording/recording-line.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

/** The command as a user would type it, beside these files. */
async function run(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    for (const [path, content] of Object.entries(files)) {
      await environment.files.makeDirectory(path.slice(0, path.lastIndexOf("/")) || "/");
      await environment.files.write(path, content);
    }
    return runProgram({ environment, terminal, stop }, "1.2.3", args);
  });
  return { code, out: terminal.out, error: terminal.error };
}

/** The same, stopped after a while. A file and the piped input may hang. */
async function runStopped(
  world: {
    readonly hanging?: string;
    readonly stdin?: (stop: AbortController) => AsyncIterable<Uint8Array>;
  },
  ...args: readonly string[]
): Promise<unknown> {
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const reason = new Error("stopped by the test");
  return await simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("here");
    await host.files.makeDirectory("/logs");
    for (const [path, content] of Object.entries(files)) await host.files.write(path, content);
    const open: Files["open"] = async (path) => {
      const file = await host.files.open(path);
      if (file === undefined || path !== world.hanging) return file;
      return { ...file, read: () => new Promise(() => undefined) };
    };
    const environment = { ...host, files: withOpen(host.files, open) };
    const { stdin } = world;
    const context = { environment, terminal, stop: stop.signal };
    const running = runProgram(
      stdin === undefined ? context : { ...context, stdin: () => stdin(stop) },
      "1.2.3",
      args,
    );
    const ended = running.then(
      (code) => code,
      (error: unknown) => (error === reason ? "stopped" : error),
    );
    await Promise.race([ended, simulation.sleep(1_000)]);
    stop.abort(reason);
    return Promise.race([ended, simulation.sleep(1_000).then(() => "still there")]);
  });
}

function withOpen(files: Files, open: Files["open"]): Files {
  return new Proxy(files, {
    get: (target, name: keyof Files) => (name === "open" ? open : target[name].bind(target)),
  });
}

function change(seconds: number, kind: RecordedKindName, object: object, isDeleted = false) {
  const common = { cluster: "prod", kind, by: "watch", afterMs: undefined } as const;
  const json = JSON.stringify(object);
  return changeLine({
    ...common,
    atMs: at(seconds),
    change: isDeleted ? "deleted" : "updated",
    json,
  });
}

const web1 = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };

/** One pod that is asked to end at 100 s, is gone at 101 s, and is listed until 130 s. */
const recording = [
  runLine({ atMs: at(0), run: "one" }),
  listedLine({ atMs: at(0), cluster: "prod", kind: "Pod", namespace: undefined }),
  change(1, "Service", service()),
  change(10, "Pod", pod({ readySince: 10 })),
  change(10, "EndpointSlice", slice([web1])),
  change(100.2, "Pod", pod({ readySince: 10, deleted: 100 })),
  change(101, "Pod", pod({ unreadySince: 101, deleted: 100, endedAt: 100 }), true),
  change(130, "EndpointSlice", slice([])),
  aliveLine({ atMs: at(3_600), behind: [] }),
  '{"at":"2026-01-0',
].join("\n");

function logLine(seconds: number, status: number, upstream = "10.0.0.1:8080"): string {
  const when = new Date(at(seconds)).toISOString();
  const time = `01/Jan/2026:${when.slice(11, 19)} +0000`;
  const tried = upstream === "" ? "- - - -" : `${upstream} 0 0.001 ${status}`;
  const tail = `100 0.001 [shop-web-80] [] ${tried} 5f2ba7`;
  return `192.0.2.1 - - [${time}] "GET /a\u001b[2Jb HTTP/1.1" ${status} 0 "-" "curl" ${tail}`;
}

const log = [
  logLine(50, 200),
  logLine(110, 502),
  logLine(120, 502),
  logLine(135, 503, ""),
  logLine(200, 502, "10.9.9.9:8080"),
  "rubbish",
  "",
].join("\n");

const files = { "/logs/access.log": log, "/pods.jsonl": recording };
const asked = ["blame", "--access-log", "/logs/access.log"];

test("says why in numbers first, and then of each request", async () => {
  const { code, out } = await run(files, ...asked, "--recording", "/pods.jsonl");
  expect(code).toBe(0);
  expect(out).toMatchInlineSnapshot(`
    "4 of 5 requests ended with 502, 503 or 504.
    ● 2 of them (50 %) went to a stale endpoint.
    ○ 1 of them (25 %) failed for another reason.
    ? 1 of them (25 %): cause unknown.

    cause              requests   share      longest delay  services
    published late            2    50 %   19.7 s to 21.1 s  shop/web
      stale endpoint: the pod had left, its service still listed it; 2 certain;
      2026-01-01 12:01:50 to 2026-01-01 12:02:00
    no endpoints              1    25 %                     shop/web
      not a stale endpoint: the service had none; 1 certain; 2026-01-01 12:02:15
    unknown                   1    25 %                     shop/web
      unknown; 1 cannot tell; 2026-01-01 12:03:20

    Worst request of each cause (times are UTC)
      /logs/access.log:3 2026-01-01 12:02:00 502 GET /a\\u{1b}[2Jb
        certain: published late
        10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested
          at 12:01:40.200 (19.7 s to 21.1 s before the request). Container ended at
          12:01:40. The service's endpoints in prod still listed it 19.7 s to 21.1 s
          later, until 29.9 s after the change.
      /logs/access.log:4 2026-01-01 12:02:15 503 GET /a\\u{1b}[2Jb
        certain: no endpoints
        No endpoint was tried. shop/web: it had no pod.
      /logs/access.log:5 2026-01-01 12:03:20 502 GET /a\\u{1b}[2Jb
        cannot tell
        10.9.9.9:8080: unknown. No pod recorded in prod had this address; it may
          belong to another cluster.

    Others
      /logs/access.log:2 2026-01-01 12:01:50 502 GET /a\\u{1b}[2Jb
        certain: published late
        10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested
          at 12:01:40.200 (9.7 s to 11.1 s before the request). Container ended at
          12:01:40. The service's endpoints in prod still listed it 9.7 s to 11.1 s
          later, until 29.9 s after the change.

    Input files
      pods.jsonl: 1 run, 10 lines; 1 unreadable, such as half of a last line.
      /logs/access.log: 5 requests, ingress-nginx.
      /logs/access.log: 1 of 6 lines not understood; the first is line 6: expected
        nginx's combined format, ingress-nginx's, Envoy's, Traefik's, APISIX's, AWS
        ALB's, or a JSON object with nginx's variables; give the proxy's log_format
        with --log-format if it has another: rubbish
    "
  `);
  expect(Math.max(...out.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(out).not.toContain("\u001b");
});

test("gives machines every verdict and a summary, one object a line", async () => {
  const { out, error } = await run(files, ...asked, "--recording", "/pods.jsonl", "--json");
  const lines = out
    .trimEnd()
    .split("\n")
    .map((line): { type: string; cause?: string; isStale?: boolean } => JSON.parse(line));
  expect(lines.map(({ type, cause }) => [type, cause])).toEqual([
    ["verdict", "published late"],
    ["verdict", "published late"],
    ["verdict", "no endpoints"],
    ["verdict", "unknown"],
    ["summary", undefined],
  ]);
  expect(lines[0]).toMatchInlineSnapshot(`
    {
      "areTriesKnown": true,
      "at": "2026-01-01T12:01:50.000Z",
      "cause": "published late",
      "confidence": "certain",
      "file": "/logs/access.log",
      "isStale": true,
      "late": {
        "leastMs": 9699,
        "mostMs": 11098,
      },
      "line": 2,
      "method": "GET",
      "service": "shop/web",
      "status": 502,
      "target": "/a[2Jb",
      "text": [
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (9.7 s to 11.1 s before the request). Container ended at 12:01:40. The service's endpoints in prod still listed it 9.7 s to 11.1 s later, until 29.9 s after the change.",
      ],
      "tries": [
        {
          "address": "10.0.0.1",
          "alternatives": [],
          "answered": false,
          "cause": "published late",
          "confidence": "certain",
          "dead": {
            "from": "2026-01-01T12:01:40.000Z",
            "shown": "2026-01-01T12:01:41.000Z",
            "to": "2026-01-01T12:01:41.000Z",
            "what": "ended",
          },
          "durationMs": 1,
          "hops": [
            {
              "hop": "published",
              "isPending": true,
              "shownAfter": {
                "leastMs": 29800,
                "mostMs": 30000,
              },
              "took": {
                "leastMs": 9699,
                "mostMs": 11098,
              },
              "where": "prod",
            },
          ],
          "late": {
            "leastMs": 9699,
            "mostMs": 11098,
          },
          "left": {
            "from": "2026-01-01T12:01:40.000Z",
            "shown": "2026-01-01T12:01:40.200Z",
            "to": "2026-01-01T12:01:40.200Z",
            "what": "terminating",
          },
          "pod": {
            "cluster": "prod",
            "name": "web-1",
            "namespace": "shop",
            "node": "node-1",
            "uid": "uid-web-1",
          },
          "port": 8080,
          "rivals": [],
          "sent": {
            "from": "2026-01-01T12:01:49.899Z",
            "to": "2026-01-01T12:01:51.098Z",
          },
          "service": "shop/web",
          "status": 502,
        },
      ],
      "triesLeftOut": 0,
      "type": "verdict",
      "version": 1,
    }
  `);
  expect(lines.at(-1)).toMatchObject({ requestsInLogs: 5, requests: 4, stale: 2 });
  expect(error).toContain("1 of 6 lines not understood");
});

test("says which limits were reached, to people and to machines", async () => {
  const tries = Array.from({ length: 50 }, () => "10.0.0.1:8080").join(", ");
  const aligned = (text: string): string => Array.from({ length: 50 }, () => text).join(", ");
  const lists = `${tries} ${aligned("0")} ${aligned("0.001")} ${aligned("502")}`;
  const line = logLine(110, 502, "").replace("- - - - 5f2ba7", `${lists} 5f2ba7`);
  const given = { "/logs/access.log": line, "/pods.jsonl": recording };
  const { out } = await run(given, ...asked, "--recording", "/pods.jsonl");
  expect(out.slice(out.indexOf("Limits"), out.indexOf("Input"))).toMatchInlineSnapshot(`
    "Limits reached
      /logs/access.log: of 1 request only the first 15 tries and the last one were
        judged, so no verdict on them is certain.

    "
  `);
  const { out: json } = await run(given, ...asked, "--recording", "/pods.jsonl", "--json");
  const [verdict, summary] = json
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text));
  expect([verdict.triesLeftOut, verdict.tries.length, verdict.confidence]).toEqual([
    34,
    16,
    "likely",
  ]);
  expect(summary.limits).toEqual([
    "/logs/access.log: of 1 request only the first 15 tries and the last one were judged, so no " +
      "verdict on them is certain.",
  ]);
});

test("judges the statuses and the time that were asked for", async () => {
  const recorded = ["--recording", "/pods.jsonl", "--json"];
  const count = async (...more: readonly string[]): Promise<unknown> => {
    const { out } = await run(files, ...asked, ...recorded, ...more);
    return JSON.parse(out.trimEnd().split("\n").at(-1) ?? "").requests;
  };
  expect(await count("--status", "503")).toBe(1);
  const since = new Date(at(115)).toISOString();
  const until = new Date(at(140)).toISOString();
  expect(await count("--since", since, "--until", until)).toBe(2);
  // The simulation's clock stands half a day before the log.
  expect(await count("--since", "1h")).toBe(4);
});

test("reads logs of a format that is given as nginx has it", async () => {
  const own = "10.0.0.1:8080|2026-01-01T12:01:50+00:00|502|GET / HTTP/1.1";
  const saved = { "/logs/access.log": own, "/pods.jsonl": recording };
  const format = "$upstream_addr|$time_iso8601|$status|$request";
  const given = ["--recording", "/pods.jsonl", "--log-format", format];
  const { out } = await run(saved, ...asked, ...given);
  expect(out).toContain("1 of 1 request ended with 502, 503 or 504.");
  expect(out).toContain("likely: published late");
  expect(out).toContain("no duration for 1 request.");
});

test("says that times without a zone were taken for UTC", async () => {
  const fields = { time: "2026-01-01 12:01:50", upstream_addr: "10.0.0.1:8080", status: 502 };
  const saved = { "/logs/access.log": JSON.stringify({ ...fields, request_time: 0.001 }) };
  const { out } = await run({ ...files, ...saved }, ...asked, "--recording", "/pods.jsonl");
  expect(out).toContain("likely: published late");
  expect(out).toContain("the times of 1 request have no time zone");
});

test("takes objects that kubectl saved, in a folder of any depth, and names their cluster", async () => {
  const pods = { kind: "PodList", items: [pod({ readySince: 10, deleted: 100, endedAt: 105 })] };
  const saved = {
    "/logs/access.log": logLine(104, 502),
    "/dump/shop/pods.json": JSON.stringify(pods),
    "/dump/shop/web-1/logs.txt": "not an object",
  };
  const { out } = await run(saved, ...asked, "--objects", "prod=/dump");
  expect(out).toContain("10.0.0.1:8080 was pod shop/web-1 in prod on node-1");
  expect(out).toContain("certain: stale");
  expect(out).toContain("shop/web");
});

test("takes objects without a name for those of the only cluster that was recorded", async () => {
  const saved = { ...files, "/a=b/objects.json": JSON.stringify({ kind: "Pod", ...pod() }) };
  const both = ["--recording", "/pods.jsonl", "--objects", "/a=b/objects.json"];
  const { out } = await run(saved, ...asked, ...both);
  expect(out).toContain("objects.json: 1 object of prod.");
  expect(out).toContain("certain: no endpoints");
});

test("reads recordings in the order of their time, whichever is named first", async () => {
  const later = [
    runLine({ atMs: at(4_000), run: "two" }),
    listedLine({ atMs: at(4_000), cluster: "prod", kind: "Pod", namespace: undefined }),
  ].join("\n");
  const saved = { ...files, "/later.jsonl": later };
  const named = (...paths: readonly string[]) =>
    run(saved, ...asked, ...paths.flatMap((path) => ["--recording", path]));
  const { out } = await named("/pods.jsonl", "/later.jsonl");
  expect(out).toContain("2 of them (50 %) went to a stale endpoint.");
  expect((await named("/later.jsonl", "/pods.jsonl")).out).toBe(out);
});

test("corrects a proxy's clock that its own log proves wrong, says so, and is certain of nothing", async () => {
  const answered = [98, 99, 99].map((seconds) => logLine(seconds + 40, 200));
  const wrong = [...answered, logLine(150, 502)].join("\n");
  const saved = { "/logs/access.log": wrong, "/pods.jsonl": recording };
  const { out } = await run(saved, ...asked, "--recording", "/pods.jsonl");
  expect(out).toContain("likely: published late");
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    "pods answered before they existed or after they were deleted. Its clock is",
  );
});

test("a log of which no line is understood is an error, in both forms", async () => {
  const saved = { ...files, "/logs/access.log": recording };
  const withRecording = ["--recording", "/pods.jsonl"];
  const told = await run(saved, ...asked, ...withRecording);
  expect(told.code).toBe(2);
  expect(told.out).toMatch(/^No line of the access logs has a known format\.\n/);
  expect(told.out).toContain("10 of 10 lines not understood");
  expect((await run(saved, ...asked, ...withRecording, "--json")).code).toBe(2);
  const beside = ["--access-log", "/good.log", ...withRecording];
  expect((await run({ ...saved, "/good.log": log }, ...asked, ...beside)).code).toBe(0);
});

test("an empty log is no error, and neither is one without a request in the time asked for", async () => {
  const withRecording = ["--recording", "/pods.jsonl"];
  const empty = await run({ ...files, "/logs/access.log": "" }, ...asked, ...withRecording);
  const since = ["--since", new Date(at(7_200)).toISOString()];
  const later = await run(files, ...asked, ...withRecording, ...since);
  for (const { code, out } of [empty, later]) {
    expect(code).toBe(0);
    expect(out).toMatch(/^No request found in the given logs and time\.\n/);
  }
});

test("those already shown as the worst are not counted among the others", async () => {
  const withRecording = ["--recording", "/pods.jsonl", "--lines", "2"];
  const more = [logLine(110, 502), logLine(111, 502), logLine(120, 502), logLine(112, 502)];
  const saved = { ...files, "/logs/access.log": more.join("\n") };
  const { out } = await run(saved, ...asked, ...withRecording);
  expect(out).toContain("4 of 4 requests ended with");
  expect(out).toContain("Others, the first 2 of 3\n");
});

describe("objects whose cluster is not named", () => {
  const other = JSON.stringify({ kind: "Pod", ...pod() });
  const saved = { "/logs/access.log": logLine(104, 502, "10.9.9.9:8080") };

  test("are called by their path", async () => {
    const { out } = await run(
      { ...saved, "/dump/pods.json": other },
      ...asked,
      "--objects",
      "/dump",
    );
    expect(out).toContain("No pod saved from /dump has this");
    expect(out).toContain("  dump: 1 object.\n");
  });

  test("are put together, whichever path they are in", async () => {
    const both = ["--objects", "/a.json", "--objects", "/b.json"];
    const { out } = await run({ ...saved, "/a.json": other, "/b.json": other }, ...asked, ...both);
    expect(out).toContain("No pod saved from /a.json and 1 more has this");
  });
});

describe("what cannot be is refused in words", () => {
  test.each([
    [
      ["--recording", "/none"],
      "recording /none does not exist; `lockstep record --out /none` creates one",
    ],
    [["--recording", "/logs/access.log"], "is no recording of lockstep record"],
    [["--objects", "/pods.jsonl"], "is a recording of lockstep record: use --recording"],
    [["--objects", "/logs/access.log"], "kubectl get pods,services,nodes,endpointslices,events -A"],
    [["--recording", "/pods.jsonl", "--cluster", "west"], "contain no data of --cluster west"],
    [["--objects", "/no/such"], "file or folder /no/such does not exist"],
    [[], "give --recording or --objects with data about the pods"],
    [["--recording", "/pods.jsonl", "--access-log", "/no.log"], "file /no.log does not exist"],
  ])("%j", async (args, message) => {
    await expect(run(files, ...asked, ...args)).rejects.toThrow(message);
  });

  test("of flags with their form", async () => {
    const format = await run(files, ...asked, "--log-format", "$request");
    expect([format.code, format.error]).toEqual([2, expect.stringContaining("with $status")]);
    const status = await run(files, ...asked, "--status", "50x");
    expect([status.code, status.error]).toEqual([2, expect.stringContaining("502,503,504")]);
    const since = await run(files, ...asked, "--since", "soon");
    expect([since.code, since.error]).toEqual([2, expect.stringContaining("or how long ago: 90s")]);
    const none = await run(files, "blame");
    expect([none.code, none.error]).toEqual([2, expect.stringContaining("--access-log")]);
    const size = await run(files, "record", "--out", "/x", "--max-size", "12");
    expect([size.code, size.error]).toEqual([2, expect.stringContaining("at least 1M")]);
  });
});

describe("Ctrl-C ends it", () => {
  const withRecording = ["--recording", "/pods.jsonl"];

  test.each([
    ["a recording", "/pods.jsonl", withRecording],
    ["a file of objects", "/pods.jsonl", ["--objects", "/pods.jsonl"]],
    ["an access log", "/logs/access.log", withRecording],
  ])("while %s is read", async (_, hanging, evidence) => {
    expect(await runStopped({ hanging }, ...asked, ...evidence)).toBe("stopped");
  });

  const piped = ["blame", "--access-log", "-", ...withRecording];

  test("while nothing is piped in", async () => {
    async function* silent(): AsyncGenerator<Uint8Array> {
      await new Promise(() => undefined);
      yield Buffer.from(log);
    }
    expect(await runStopped({ stdin: silent }, ...piped)).toBe("stopped");
  });

  test("while nothing of what is piped in is understood", async () => {
    async function* rubbish(stop: AbortController): AsyncGenerator<Uint8Array> {
      yield Buffer.from("rubbish\n");
      stop.abort(new Error("the reason"));
      yield Buffer.from("rubbish\n");
    }
    expect(await runStopped({ stdin: rubbish }, ...piped)).toEqual(new Error("the reason"));
  });
});
