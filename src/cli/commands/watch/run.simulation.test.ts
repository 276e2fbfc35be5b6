import { expect, test } from "vitest";
import { lockstepWatch, startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import { UsageError } from "../../command.ts";

/** One pod comes and is published late, one goes and never is. */
async function changePods(world: ObserverWorld): Promise<void> {
  const { timers } = world.simulation.host("admin");
  await timers.sleep(5_000);
  await world.addPod("lab-1", "web-2", "10.0.0.2");
  await timers.sleep(3_000);
  await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
  await timers.sleep(1_000);
  await world.removePod("lab-1", "web-1");
  await timers.sleep(40_000);
}

test("without a terminal every change that is over or stuck is a line", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const { code, out, errors } = await lockstepWatch(world, { args: [], meanwhile: changePods });
    expect(code).toBe(0);
    expect(out.replaceAll(/\.\d{3}Z/g, "Z")).toMatchInlineSnapshot(`
      "2026-01-01T00:00:05Z lab-1 ready +10.0.0.2 shop/web  pod 0 · published 3 s · routed ? · slow
      2026-01-01T00:00:09Z lab-1 terminating −10.0.0.1 shop/web  pod 0 · published stuck 31 s… · routed ?
      "
    `);
    expect(errors).toMatchInlineSnapshot(`
      "● lab-1: will list 1 service, 1 pod, 1 endpointslice, 0 nodes; about 2.3 kB in 4
        requests. Then keeps 4 watches open and sends 12 requests a minute to check
        that they are up to date.
        Lockstep only reads. On a managed cluster (EKS, GKE, AKS) it cannot see the
        controllers' queues, rate limits, flags and logs. It sees everything else.

      lab-1: connecting
      lab-1: watching
      note: lab-1: published endpoints of shop/web are late, cause unknown. Run lockstep doctor --context lab-1
      Observed for 49 s.
      2 changes, 1 complete, 1 slow (2 s or more), 1 in flight (1 stuck).

                   removal                           addition
      hop           p50     p99     max    oldest     p50     p99     max    oldest
      pod             0     n=1       0         –       0     n=1       0         –
      published       –       –       –    ✗40 s…    ▲3 s     n=1    ▲3 s         –
      synced      ? no copies of endpoints found in lab-1
      routed      ? no proxy given: use --proxy URL
      traffic     ? no access log given: use --access-log FILE

      Slowest
      time     endpoint         service              cause       published    routed
      00:00:05 +10.0.0.2        shop/web             ready            ▲3 s         ?

      Stuck
      time     endpoint         service              cause       published    routed
      00:00:09 −10.0.0.1        shop/web             terminating    ✗40 s…         ?

      Notes
      · lab-1: published endpoints of shop/web are late, cause unknown. Run lockstep
        doctor --context lab-1
      "
    `);
  }));

test("on a terminal the changes in flight are drawn in place and scroll away when they are over", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const screen = { columns: 80, rows: 24 };
    const { code, out } = await lockstepWatch(world, { args: [], meanwhile: changePods, screen });
    expect(code).toBe(0);
    // Each frame is drawn without breaking lines.
    const frames = out.split("\u001b[?7l");
    expect(frames.length).toBeGreaterThan(40);
    expect(plain(frames.at(-2) ?? "")).toMatchInlineSnapshot(`
      "time     endpoint         service              cause       published    routed
      00:00:09 −10.0.0.1        shop/web             terminating    ✗38 s…         ?
      ── lockstep watch · 47 s · 2 changes · 1 in flight · ✗ 1 stuck · ▲ 1 slow ──────
                   removal                           addition
      hop           p50     p99     max    oldest     p50     p99     max    oldest
      pod             0     n=1       0         –       0     n=1       0         –
      published       –       –       –    ✗38 s…    ▲3 s     n=1    ▲3 s         –
      synced      ? no copies of endpoints found in lab-1
      routed      ? no proxy given: use --proxy URL
      traffic     ? no access log given: use --access-log FILE
      ! lab-1: published endpoints of shop/web are late, cause unknown. Run lockstep
        doctor --context lab-1

      "
    `);
    expect(out.startsWith("\u001b[?25l")).toBe(true);
    expect(out).toContain("\u001b[?25h");
  }));

/** A dead address is listed before the watch starts. */
async function startStale(world: ObserverWorld): Promise<void> {
  await startShop(world, "lab-1");
  await world.removePod("lab-1", "web-1");
}

const fewSeconds = (world: ObserverWorld) => world.simulation.host("admin").timers.sleep(6_000);

test("what disagrees at the start is in flight on the screen within seconds", () =>
  inObserverWorld(async (world) => {
    await startStale(world);
    const screen = { columns: 100, rows: 24 };
    const { out } = await lockstepWatch(world, { args: [], meanwhile: fewSeconds, screen });
    expect(out).toContain("1 change · 1 in flight");
    expect(out).toMatch(/−10\.0\.0\.1 .*▲≥\d/);
  }));

test("with --json what disagrees at the start is an object", () =>
  inObserverWorld(async (world) => {
    await startStale(world);
    const { out } = await lockstepWatch(world, { args: ["--json"], meanwhile: fewSeconds });
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const found = lines.filter(({ type }) => type === "found");
    expect(found).toMatchObject([
      { journey: { address: "10.0.0.1", direction: "leave", originBeforeStart: true } },
    ]);
    expect(lines.at(-1)).toMatchObject({ type: "summary", changes: 1, inFlight: 1, inexact: 1 });
  }));

test("with --json every step is an object, and so is how it stands", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const { code, out } = await lockstepWatch(world, { args: ["--json"], meanwhile: changePods });
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line, calm));
    expect(lines.map(({ type, hop }) => [type, hop].join(" "))).toMatchInlineSnapshot(`
      [
        "status ",
        "shown pod",
        "shown published",
        "over ",
        "shown pod",
        "status ",
        "status ",
        "status ",
        "status ",
        "stuck published",
        "summary ",
      ]
    `);
    const over = lines.find(({ type }) => type === "over");
    expect(over).toMatchInlineSnapshot(`
      {
        "atMs": 1767225608000,
        "journey": {
          "address": "10.0.0.2",
          "cause": "ready",
          "cluster": "lab-1",
          "direction": "join",
          "hops": [
            {
              "hop": "pod",
              "lagMs": 0,
              "state": "shown",
              "witness": "lab-1",
            },
            {
              "hop": "published",
              "lagMs": 3000,
              "state": "shown",
              "witness": "lab-1",
            },
          ],
          "id": "UUID-1",
          "originMs": 1767225605000,
          "originNotBeforeMs": null,
          "outcome": "complete",
          "podName": "web-2",
          "podUid": "UUID",
          "port": 8080,
          "service": "shop/web",
        },
        "type": "over",
      }
    `);
    const { recentLags, slowest, ...summary } = lines.at(-1);
    // All of it was in the last 15 minutes.
    expect(recentLags).toEqual(summary.lags);
    expect(slowest).toEqual([over.journey]);
    expect(summary).toMatchInlineSnapshot(`
      {
        "atMs": 1767225649000,
        "awaitingRequests": 0,
        "changes": 2,
        "clusters": [
          {
            "cluster": "lab-1",
            "doubts": [],
            "lost": [],
            "state": "watching",
          },
        ],
        "dropped": 0,
        "everStuck": 1,
        "inFlight": 1,
        "inexact": 0,
        "lags": [
          {
            "count": 1,
            "direction": "leave",
            "hop": "pod",
            "maxMs": 0,
            "p50Ms": 0,
            "p99Ms": 0,
          },
          {
            "count": 1,
            "direction": "join",
            "hop": "pod",
            "maxMs": 0,
            "p50Ms": 0,
            "p99Ms": 0,
          },
          {
            "count": 1,
            "direction": "join",
            "hop": "published",
            "maxMs": 3000,
            "p50Ms": 3000,
            "p99Ms": 3000,
          },
        ],
        "notes": [
          "lab-1: published endpoints of shop/web are late, cause unknown. Run lockstep doctor --context lab-1",
        ],
        "oldest": [
          {
            "ageMs": 40000,
            "cluster": "lab-1",
            "direction": "leave",
            "hop": "published",
          },
        ],
        "recentMs": 900000,
        "slow": 1,
        "startedMs": 1767225600000,
        "stuck": [
          {
            "address": "10.0.0.1",
            "cause": "terminating",
            "cluster": "lab-1",
            "clusterTimeMs": 1767225609000,
            "direction": "leave",
            "hops": [
              {
                "hop": "pod",
                "lagMs": 0,
                "state": "shown",
                "witness": "lab-1",
              },
              {
                "hop": "published",
                "lagMs": null,
                "state": "stuck",
                "witness": "lab-1",
              },
            ],
            "id": "UUID-2",
            "originMs": 1767225609000,
            "originNotBeforeMs": null,
            "outcome": "pending",
            "podName": "web-1",
            "podUid": "UUID",
            "port": 8080,
            "service": "shop/web",
          },
        ],
        "stuckNow": 1,
        "superseded": 0,
        "type": "summary",
        "unknown": {
          "routed": "no proxy given: use --proxy URL",
          "synced": "no copies of endpoints found in lab-1",
          "traffic": "no access log given: use --access-log FILE",
        },
      }
    `);
  }));

test("a cluster that cannot be reached is reported, and does not hold up the other", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const { code, out, errors } = await lockstepWatch(world, {
      args: ["--all-contexts", "--for", "30s"],
    });
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(errors).toMatchInlineSnapshot(`
      "! context lab-1-again is skipped: it is the same server as lab-1
      ! context proxied is skipped: the kubeconfig /kubeconfig: cluster "proxied": proxy-url is not supported
      ● lab-1: will list 1 service, 1 pod, 1 endpointslice, 0 nodes; about 2.3 kB in 4
        requests. Then keeps 4 watches open and sends 12 requests a minute to check
        that they are up to date.
      ✗ lab-2 (https://lab-2:6443) does not answer, retrying: lab-2: no such host
        Lockstep only reads. On a managed cluster (EKS, GKE, AKS) it cannot see the
        controllers' queues, rate limits, flags and logs. It sees everything else.

      lab-1: connecting
      lab-2: connecting
      lab-1: watching
      lab-2: unreachable for 1 s: lab-2: no such host
      Observed for 30 s.
      No endpoint was added or removed.

                   removal                           addition
      hop           p50     p99     max    oldest     p50     p99     max    oldest
      pod             –       –       –         –       –       –       –         –
      published       –       –       –         –       –       –       –         –
      synced      ? no copies of endpoints found in lab-1, lab-2
      routed      ? no proxy given: use --proxy URL
      traffic     ? no access log given: use --access-log FILE

      Notes
      · lab-2: unreachable for 29 s: lab-2: no such host
      "
    `);
  }));

test("when no cluster can be reached it goes on trying, and the answer is no", () =>
  inObserverWorld(async (world) => {
    const { code, errors } = await lockstepWatch(world, { args: ["--for", "40s"] });
    expect(code).toBe(1);
    expect(errors).toMatchInlineSnapshot(`
      "✗ lab-1 (https://lab-1:6443) does not answer, retrying: lab-1: no such host
        Lockstep only reads. On a managed cluster (EKS, GKE, AKS) it cannot see the
        controllers' queues, rate limits, flags and logs. It sees everything else.

      lab-1: connecting
      lab-1: unreachable for 1 s: lab-1: no such host
      Observed for 40 s.
      No result: no cluster could be read.

                   removal                           addition
      hop           p50     p99     max    oldest     p50     p99     max    oldest
      pod         ? no data from lab-1
      published   ? no data from lab-1
      synced      ? no data from lab-1
      routed      ? no proxy given: use --proxy URL
      traffic     ? no access log given: use --access-log FILE

      Notes
      · lab-1: unreachable for 40 s: lab-1: no such host
      "
    `);
  }));

test("a server that hangs is named while it is asked, and when it has not answered", () =>
  inObserverWorld(async (world) => {
    const { network } = world.simulation.host("lab-1");
    // Connections are taken, and nothing is ever answered.
    await network.listen({ host: "lab-1", port: 6443 }, () => undefined);
    const { code, errors } = await lockstepWatch(world, { args: ["--for", "20s"] });
    expect(code).toBe(1);
    expect(errors.slice(0, errors.indexOf("  Lockstep only reads."))).toMatchInlineSnapshot(`
      "lab-1 (https://lab-1:6443): counting objects …
      ✗ lab-1 (https://lab-1:6443) does not answer, retrying: GET
        /apis/discovery.k8s.io/v1: no answer within 10000 ms
      "
    `);
  }));

test.each([
  [
    ["--context", "nowhere"],
    'the kubeconfig /kubeconfig has no context "nowhere"; available: lab-1, lab-2, lab-1-again, proxied',
  ],
  [
    ["--context", "lab-7"],
    'the kubeconfig /kubeconfig has no context "lab-7"; similar: lab-1, lab-2 ' +
      "(and 2 more: kubectl config get-contexts)",
  ],
  [["--context", "lab-1", "--context", "lab-1"], "lab-1 is given twice: remove one."],
  [
    ["--context", "lab-1", "--all-contexts"],
    "--all-contexts and --context cannot be used together",
  ],
  [
    ["--service", "shop/web", "--namespace", "other"],
    "shop/web is not in one of the given namespaces",
  ],
  [["--access-log", "/nowhere.log"], "access log /nowhere.log does not exist"],
  [["--access-log", "/"], "the access log / is a folder: give a file."],
  [["--access-log", "pod:web"], "--access-log: pod:web is not a pod"],
  [["--proxy", "caddy=http://proxy"], "--proxy caddy=http://proxy: unknown kind of proxy caddy"],
  [["--otlp", "collector"], "--otlp must be the URL of an OTLP receiver over HTTP"],
])("%j is refused in words", (args, message) =>
  inObserverWorld(async (world) => {
    await expect(lockstepWatch(world, { args })).rejects.toThrow(message);
  }),
);

test.each([
  [["--service", "web"], "It must be namespace/name, such as shop/web."],
  [["--access-log", "-", "--log-format", "abc"], "It must be a log_format of nginx with $status"],
])("%j is refused with how to correct it", (args, message) =>
  inObserverWorld(async (world) => {
    const { code, errors } = await lockstepWatch(world, { args });
    expect([code, errors]).toEqual([2, expect.stringContaining(message)]);
  }),
);

test("a context that does not exist is a usage error", () =>
  inObserverWorld(async (world) => {
    await expect(lockstepWatch(world, { args: ["--context", "nowhere"] })).rejects.toBeInstanceOf(
      UsageError,
    );
  }));

/** Without what is different in every run: names by chance, and the last milliseconds. */
function calm(_: string, value: unknown): unknown {
  if (typeof value === "number") {
    return Number.isInteger(value) && value < 1e6 ? value : Math.round(value / 100) * 100;
  }
  if (typeof value !== "string") return value;
  return value.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/, "UUID");
}

/** Without what moves the cursor. */
function plain(frame: string): string {
  const escapeSign = String.fromCharCode(27);
  return frame.replaceAll(new RegExp(`${escapeSign}\\[[?\\d;]*[A-Za-z]`, "g"), "");
}
