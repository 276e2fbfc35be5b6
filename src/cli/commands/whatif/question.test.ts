import { describe, expect, it } from "vitest";
import { heartbeatGap, kubeVersion } from "./command.ts";
import { type Asked, questionOf } from "./question.ts";

function ask(asked: Partial<Asked>) {
  return questionOf({ given: {}, seed: 1, ...asked });
}

describe("a question", () => {
  it("has the defaults of its version where nothing was given", () => {
    expect(ask({})).toEqual({
      counts: {
        services: 1_000,
        headlessShare: 0,
        pods: 1_000,
        nodes: 10,
        changesPerSecond: 0,
        writesPerSecond: undefined,
        writeLatencyMs: 3,
      },
      settings: {
        version: "1.33",
        qps: 20,
        burst: 30,
        workers: 5,
        resyncMs: 43_200_000,
        batchMs: 0,
        graceMs: 50_000,
        heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_400 },
      },
      seed: 1,
    });
    expect(ask({ version: "1.9" }).settings).toMatchObject({
      graceMs: 40_000,
      heartbeat: { by: "status" },
    });
  });

  it("takes a preset, and what was typed before it", () => {
    const { counts, settings } = ask({ preset: "resync-storm", given: { qps: 100, pods: 50 } });
    expect(counts).toMatchObject({ services: 12_988, pods: 50, writesPerSecond: undefined });
    expect(Math.round(counts.services * counts.headlessShare)).toBe(12_954);
    expect(settings).toMatchObject({ version: "1.17.3", qps: 100, burst: 30 });
  });

  it("takes what was typed before what was read from a cluster", () => {
    const read = { given: { services: 300, qps: 40 }, version: "1.17.13" } as const;
    expect(ask({ read, given: { qps: 50 } })).toMatchObject({
      counts: { services: 300, pods: 300 },
      settings: { version: "1.17.13", qps: 50 },
    });
  });
});

describe("refused is", () => {
  it.each<[string, Partial<Asked>, string]>([
    [
      "a grace period that is over before nodes are looked at",
      { given: { "grace-period": 5_000 } },
      "The grace period of 5s must be above --node-monitor-period, 5s.",
    ],
    [
      "a batch period in a version without the flag",
      { version: "1.9", given: { "batch-period": 1_000 } },
      "Kubernetes 1.9 has no --endpoint-updates-batch-period: a batch period needs\n" +
        "1.17.3 or 1.17.13 or 1.33 or 1.36.",
    ],
    [
      "a Lease in a version without Leases",
      { version: "1.7", heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_000 } },
      "Kubelets of 1.7 have no Leases: use --heartbeat status:… or a version that has\n" +
        "them (1.17.3, 1.17.13, 1.33, 1.36).",
    ],
    [
      "more changes than pods",
      { given: { churn: 30, pods: 20, services: 100 } },
      "30 changes a second are more than one a second of each pod or service: --churn\n" +
        "may be at most 20 here.",
    ],
    [
      "a server that cannot even write the heartbeats",
      { given: { "write-capacity": 10, nodes: 200 } },
      "Heartbeats and changes of pods alone are 20 writes a second: --write-capacity\n" +
        "must be at least 20, or there is no steady state.",
    ],
  ])("%s", (_, asked, message) => {
    expect(() => ask(asked)).toThrow(expect.objectContaining({ code: "USAGE", message }));
  });
});

describe("accepted is what a refusal suggests:", () => {
  function suggestedBy(asked: Partial<Asked>, pattern: RegExp): string {
    try {
      ask(asked);
    } catch (error) {
      const text = error instanceof Error ? error.message.replaceAll("\n", " ") : "";
      return pattern.exec(text)?.[1] ?? "";
    }
    return "";
  }

  it("the least capacity, also where it is a whole number", () => {
    for (const nodes of [7, 200]) {
      const asked = { "write-capacity": 1, nodes, churn: 3 };
      const least = Number(suggestedBy({ given: asked }, /must be at least (\d+),/));
      expect(least).toBeGreaterThan(1);
      expect(() => ask({ given: { ...asked, "write-capacity": least } })).not.toThrow();
    }
  });

  it("the most churn", () => {
    const asked = { churn: 30, pods: 20, services: 100 };
    const most = Number(suggestedBy({ given: asked }, /at most (\d+) here/));
    expect(() => ask({ given: { ...asked, churn: most } })).not.toThrow();
  });

  it("every version named for a batch period or a Lease", () => {
    const batch = { given: { "batch-period": 1_000 } };
    const lease = { heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_000 } } as const;
    const named: readonly (readonly [Partial<Asked>, string])[] = [
      [batch, suggestedBy({ ...batch, version: "1.9" }, /needs (.+)\.$/)],
      [lease, suggestedBy({ ...lease, version: "1.7" }, /\((.+)\)/)],
    ];
    for (const [asked, texts] of named) {
      const versions = texts.split(/, | or /).map(kubeVersion);
      expect(versions.length).toBeGreaterThan(2);
      for (const version of versions) {
        expect(() => ask({ ...asked, version })).not.toThrow();
      }
    }
  });
});

it.each([
  ["10s", { by: undefined, minMs: 10_000, maxMs: 10_000 }],
  ["20s..50s", { by: undefined, minMs: 20_000, maxMs: 50_000 }],
  ["lease:1m30s..2m", { by: "lease", minMs: 90_000, maxMs: 120_000 }],
  ["status:10s", { by: "status", minMs: 10_000, maxMs: 10_000 }],
])("reads the heartbeat %s", (text, expected) => {
  expect(heartbeatGap(text)).toEqual(expected);
});

it.each(["50s..20s", "10ms", "2h", "tcp:10s", "10", ""])("refuses the heartbeat %j", (text) => {
  expect(() => heartbeatGap(text)).toThrow("It must be a gap from 1s to 1h");
});

it("knows the versions of the lab, with and without their v", () => {
  expect(["1.17.3", "v1.33"].map(kubeVersion)).toEqual(["1.17.3", "1.33"]);
  for (const text of ["1.20", ""]) expect(() => kubeVersion(text)).toThrow("It must be one of");
});
