// The five incidents, each in small: as in its write-up, as a copy with other names, sizes and times, and
// with its fix. The doctor knows only a client. It must name the cause first, and from what it saved too.
import { describe, expect, test } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { GhostScene } from "../../src/lab/incidents/ghost-leader/play.ts";
import { writeUpSettings } from "../../src/lab/incidents/ghost-leader/settings.ts";
import { createService } from "../../src/lab/incidents/heartbeat-flap/late-nodes.ts";
import { fillerObjects, flagsOf } from "../../src/lab/incidents/resync-storm/settings.ts";
import type { Stage } from "../../src/lab/incidents/stage.ts";
import { createFillerPod, createShop, fillerServices, releaseShop } from "../../src/lab/shop.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import {
  aboveInfo,
  type Examined,
  examine,
  minuteMs,
  named,
  onStage,
  serverAddressOf,
  withCluster,
} from "./examined-cluster.ts";

type Play = () => Promise<Examined>;

interface Row {
  readonly incident: string;
  readonly cause: string;
  readonly seen: Play;
  readonly copy: Play;
  readonly fixed: Play;
}

/** A release in each third of the examination. */
async function examineReleases(client: KubeClient, stage: Stage, forMs: number): Promise<Examined> {
  const looking = examine(stage.environmentOf("operator"), client, { forMs });
  for (let release = 1; release <= 3; release += 1) {
    await stage.sleep(forMs / 6);
    await releaseShop(client, String(release));
    await stage.sleep(forMs / 6);
  }
  return looking;
}

interface Throttled {
  readonly services: number;
  readonly qps: number;
  readonly workers: number;
  readonly verbosity: number;
  readonly forMs: number;
}

function throttled({ services, qps, workers, verbosity, forMs }: Throttled): Play {
  const flags = { "kube-api-qps": qps, "kube-api-burst": qps + 5, v: verbosity };
  const options = {
    profile: "1.7",
    objects: fillerServices(services),
    flags: { ...flags, "concurrent-endpoint-syncs": workers },
  } as const;
  return () =>
    withCluster(options, async (_cluster, client, stage) => {
      await createFillerPod(client);
      await createShop(client);
      await stage.sleep(2 * minuteMs);
      return examineReleases(client, stage, forMs);
    });
}

interface Storm {
  readonly profile: "1.17.3" | "1.17.13";
  readonly headless: number;
  readonly others: number;
  readonly qps: number;
  readonly workers: number;
  readonly minResyncMs: number;
}

/** Examined in the first resync after the start. */
function storm({ profile, headless, others, qps, workers, minResyncMs }: Storm): Play {
  const limits = { workers, qps, burst: 2 * qps };
  const options = {
    profile,
    flags: flagsOf(limits, minResyncMs),
    resyncFactor: 1.2,
    objects: fillerObjects({ services: headless + others, headless }),
  };
  return () =>
    withCluster(options, async (_cluster, client, stage) => {
      const beganMs = stage.now();
      await createShop(client);
      await stage.sleep(minResyncMs * 1.2 - (stage.now() - beganMs));
      return examineReleases(client, stage, 40_000);
    });
}

interface Ghost {
  readonly nodes: number;
  readonly replicas: number;
  readonly electionTtlMs: number;
  readonly forMs: number;
  readonly isRemoved: boolean;
}

/** The fix: the machine of the leader is switched off, so another replica leads. */
function ghost({ isRemoved, forMs, ...settings }: Ghost): Play {
  return () =>
    onStage(async (stage) => {
      const scene = await GhostScene.open(stage, { ...writeUpSettings, ...settings, ingresses: 3 });
      const holder = scene.locks.stock.record?.holder ?? "";
      const leader = scene.stock.running().find(({ pod }) => pod.metadata.name === holder);
      if (isRemoved) await scene.removeMachines(new Set([leader?.pod.nodeName ?? ""]));
      await stage.sleep(minuteMs);
      const examined = await examine(stage.environmentOf("operator"), scene.client, { forMs });
      await scene.stop();
      return examined;
    });
}

function fight(servers: number, settings: object, forMs: number): Play {
  const ports = Array.from({ length: servers }, () => 6443);
  const options = { profile: "1.9", ports, serverAddressOf, ...settings } as const;
  return () =>
    withCluster(options, async (_cluster, client, stage) => {
      await stage.sleep(minuteMs);
      return examine(stage.environmentOf("operator"), client, { forMs });
    });
}

interface Late {
  readonly profile: "1.9" | "1.33";
  readonly gap: "status" | "lease";
  readonly nodes: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly graceMs?: number;
}

function lateNodes({ profile, gap, nodes, minMs, maxMs, graceMs }: Late): Play {
  const flags = graceMs === undefined ? {} : { "node-monitor-grace-period": graceMs };
  return () =>
    withCluster({ profile, nodes, flags }, async (cluster, client, stage) => {
      await createService(client, nodes);
      await stage.sleep(minuteMs);
      for (const kubelet of cluster.kubelets) kubelet.setHeartbeatGaps({ [gap]: { minMs, maxMs } });
      await stage.sleep(5 * minuteMs);
      return examine(stage.environmentOf("operator"), client, { forMs: 2 * minuteMs });
    });
}

const few = { services: 200, qps: 5, workers: 5, verbosity: 4, forMs: minuteMs };
const bug = { headless: 215, others: 5, qps: 5, workers: 5, minResyncMs: 100_000 };
const leader = { nodes: 4, replicas: 2, electionTtlMs: 16_000, forMs: 30_000, isRemoved: true };
const gaps = { profile: "1.9", gap: "status", nodes: 8, minMs: 20_000, maxMs: 70_000 } as const;

const rows: readonly Row[] = [
  {
    incident: "throttled-controller",
    cause: "client-throttling",
    seen: throttled(few),
    // Without throttling lines in the log, and with more workers.
    copy: throttled({ services: 450, qps: 10, workers: 12, verbosity: 0, forMs: 90_000 }),
    fixed: throttled({ ...few, qps: 300 }),
  },
  {
    incident: "resync-storm",
    cause: "headless-rewrites",
    seen: storm({ ...bug, profile: "1.17.3" }),
    copy: storm({
      profile: "1.17.3",
      headless: 330,
      others: 90,
      qps: 8,
      workers: 9,
      minResyncMs: 140_000,
    }),
    fixed: storm({ ...bug, profile: "1.17.13" }),
  },
  {
    incident: "ghost-leader",
    cause: "ghost-leader",
    seen: ghost(leader),
    copy: ghost({ nodes: 6, replicas: 3, electionTtlMs: 24_000, forMs: 45_000, isRemoved: true }),
    fixed: ghost({ ...leader, isRemoved: false }),
  },
  {
    incident: "apiserver-fight",
    cause: "apiserver-fight",
    seen: fight(3, {}, 30_000),
    copy: fight(5, {}, 50_000),
    fixed: fight(3, { kubernetesService: { reconcilerType: "lease" } }, 30_000),
  },
  {
    incident: "heartbeat-flap",
    cause: "late-heartbeats",
    seen: lateNodes(gaps),
    copy: lateNodes({ profile: "1.33", gap: "lease", nodes: 5, minMs: 30_000, maxMs: 90_000 }),
    fixed: lateNodes({ ...gaps, graceMs: 100_000 }),
  },
];

test.each(rows)("$cause is named first, certainly, in $incident", async ({ cause, seen }) => {
  const examined = await seen();
  expect(named(examined)[0]).toMatch(new RegExp(`^critical ${cause} \\(certain`));
  expect(named(examined.offline)).toEqual(named(examined));
});

describe.runIf(isThorough(process.env))("when there is time", () => {
  test.each(rows)("$cause is named first in a copy of $incident", async ({ cause, copy }) => {
    const examined = await copy();
    expect(named(examined)[0]).toMatch(new RegExp(`^critical ${cause} \\(certain`));
    expect(named(examined.offline)).toEqual(named(examined));
  });

  test.each(rows)("nothing is above info in $incident with its fix", async ({ fixed }) => {
    const examined = await fixed();
    expect(aboveInfo(examined)).toEqual([]);
    expect(aboveInfo(examined.offline)).toEqual([]);
  });
});
