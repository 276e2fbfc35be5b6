import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { StatusError } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../../lab/cluster.ts";
import { GhostScene } from "../../lab/incidents/ghost-leader/play.ts";
import { writeUpSettings } from "../../lab/incidents/ghost-leader/settings.ts";
import { createService } from "../../lab/incidents/heartbeat-flap/late-nodes.ts";
import type { Stage } from "../../lab/incidents/stage.ts";
import { VirtualStages } from "../../lab/incidents/virtual-stage.ts";
import { Ledger } from "../../lab/kubelet/ledger.ts";
import { createShop, releaseShop } from "../../lab/shop.ts";
import { type Diagnosis, diagnose } from "../diagnose.ts";
import { evidenceIn, type Facts, noFacts } from "../evidence/evidence.ts";
import { emptySummary, readPath } from "../evidence/read-paths.ts";
import { type ApiCost, examineCluster } from "./examine-cluster.ts";
import { Gathered } from "./gathered.ts";
import { LiveReader } from "./live-reader.ts";

const minuteMs = 60_000;
const savedIn = "/saved";

interface Examined extends Diagnosis {
  readonly offline: Diagnosis;
  readonly problems: readonly string[];
  readonly costs: readonly ApiCost[];
}

/** Knows nothing of the cluster but a client. */
async function examine(
  environment: Environment,
  client: KubeClient,
  forMs: number,
): Promise<Examined> {
  const { files, log } = environment;
  const { signal } = new AbortController();
  const facts = noFacts();
  const reader = new LiveReader({ client, signal });
  const save = async (path: string, text: string): Promise<void> => {
    const file = `${savedIn}/${path}`;
    await files.makeDirectory(file.slice(0, file.lastIndexOf("/")));
    await files.append(file, text);
  };
  const costs: ApiCost[] = [];
  await examineCluster({
    ...environment,
    cluster: "blue",
    reader,
    gathered: new Gathered({ facts, cluster: "blue", save }),
    signal,
    forMs,
    maxQps: 10,
    onCost: (cost) => void costs.push(cost),
    onProgress: () => undefined,
  });
  const read = noFacts();
  await readPath({ files, log, facts: read, signal }, savedIn, emptySummary());
  return { ...diagnosed(facts), offline: diagnosed(read), problems: reader.problems, costs };
}

function diagnosed(facts: Facts): Diagnosis {
  return diagnose(evidenceIn(facts));
}

function named({ findings }: Diagnosis): readonly string[] {
  return findings.map(({ rule, severity, confidence }) => `${severity} ${rule} (${confidence})`);
}

function onStage<Result>(play: (stage: Stage) => Promise<Result>): Promise<Result> {
  return new VirtualStages({ seed: 1 }).open(play);
}

/** A cluster, its client, and some minutes to settle. */
async function withCluster<Result>(
  options: Partial<ClusterOptions>,
  play: (cluster: Cluster, client: KubeClient, stage: Stage) => Promise<Result>,
): Promise<Result> {
  return onStage(async (stage) => {
    const user = stage.environmentOf("user");
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => stage.environmentOf(part),
      hostOf: (part) => stage.hostOf(part),
      podNetwork: stage.podNetwork,
      ports: [6443],
      nodes: 2,
      ledger: new Ledger(user),
      ...options,
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "doctor" });
    try {
      return await play(cluster, client, stage);
    } finally {
      await cluster.stop();
    }
  });
}

/** Endpoints list addresses, and a simulated machine has only a name. */
const serverAddressOf = (_server: string, index: number): string => `10.0.0.${index + 1}`;

test("a leader without a pod is named first, live and from what was saved", async () => {
  const { seen, identity } = await onStage(async (stage) => {
    const small = { nodes: 4, replicas: 2, ingresses: 3, electionTtlMs: 16_000 };
    const scene = await GhostScene.open(stage, { ...writeUpSettings, ...small });
    const holder = scene.locks.stock.record?.holder ?? "";
    const leader = scene.stock.running().find(({ pod }) => pod.metadata.name === holder);
    await scene.removeMachines(new Set([leader?.pod.nodeName ?? ""]));
    await stage.sleep(minuteMs);
    const examined = await examine(stage.environmentOf("operator"), scene.client, 30_000);
    await scene.stop();
    return { seen: examined, identity: holder };
  });
  expect(named(seen)[0]).toBe("critical ghost-leader (certain: two sources)");
  expect(seen.findings[0]?.cause).toContain(identity);
  expect(seen.findings[0]?.evidence.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^it was renewed \d+ times within /),
  );
  expect(named(seen.offline)).toEqual(named(seen));
});

test("API servers that replace each other are named first", async () => {
  const options = { profile: "1.9", ports: [6443, 6443, 6443], serverAddressOf } as const;
  const seen = await withCluster(options, async (_cluster, client, stage) => {
    await stage.sleep(minuteMs);
    return examine(stage.environmentOf("operator"), client, 30_000);
  });
  expect(named(seen)[0]).toMatch(/^critical apiserver-fight \(certain/);
  expect(seen.findings[0]?.evidence.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/one address at a time; it changed \d+ times within \d+ s/),
  );
  expect(named(seen.offline)).toEqual(named(seen));
});

test.each([
  { place: "the status", profile: "1.9", gaps: "status" },
  { place: "Leases", profile: "1.33", gaps: "lease" },
] as const)("nodes with late heartbeats in $place are named first", async ({ profile, gaps }) => {
  const late = { minMs: 20_000, maxMs: 70_000 };
  const seen = await withCluster({ profile, nodes: 8 }, async (cluster, client, stage) => {
    await createService(client, 8);
    await stage.sleep(minuteMs);
    for (const kubelet of cluster.kubelets) kubelet.setHeartbeatGaps({ [gaps]: late });
    await stage.sleep(5 * minuteMs);
    return examine(stage.environmentOf("operator"), client, 2 * minuteMs);
  });
  expect(named(seen)[0]).toMatch(/^critical late-heartbeats \(certain/);
  expect(seen.findings[0]?.evidence.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^between two heartbeats of .* were up to /),
  );
  expect(named(seen.offline)).toEqual(named(seen));
});

test.each(["1.9", "1.17.13", "1.33"] as const)(
  "in a healthy and busy cluster of %s nothing is found above info",
  async (profile) => {
    const kubernetesService = { reconcilerType: "lease" } as const;
    // No Ingress: without a controller its status would rightly be found empty.
    const options = { profile, ports: [6443, 6443], serverAddressOf, kubernetesService };
    const seen = await withCluster(options, async (_cluster, client, stage) => {
      await createShop(client);
      await stage.sleep(minuteMs);
      const looking = examine(stage.environmentOf("operator"), client, minuteMs);
      for (let release = 1; release <= 4; release += 1) {
        await releaseShop(client, String(release));
        await stage.sleep(10_000);
      }
      return looking;
    });
    expect(seen.findings.filter(({ severity }) => severity !== "info")).toEqual([]);
    expect(seen.problems).toEqual([]);
  },
);

test("a refused kind is reported with its permission, and the others are read", async () => {
  const seen = await withCluster({}, async (_cluster, client, stage) => {
    await stage.sleep(minuteMs);
    return examine(stage.environmentOf("operator"), refusing(client, /configmaps|\/log/), 10_000);
  });
  expect(seen.problems).toEqual([
    'configmaps: no permission. Grant "list" on configmaps; deploy/rbac/doctor.yaml has all permissions.',
    'pods/log: no permission. Grant "get" on pods/log; deploy/rbac/doctor.yaml has all permissions.',
  ]);
  expect([...(seen.costs[0]?.objects.keys() ?? [])]).toEqual([
    "nodes",
    "leases",
    "endpoints",
    "services",
    "pods",
    "ingresses",
    "events",
  ]);
});

function refusing(client: KubeClient, paths: RegExp): KubeClient {
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (!paths.test(request.path)) return client.request(request);
      throw new StatusError({ code: 403, reason: "Forbidden", message: "forbidden" });
    },
  };
}

test("it only reads, never Secrets, and keeps no data of ConfigMaps", async () => {
  const requests: string[] = [];
  const files = await withCluster({}, async (_cluster, client, stage) => {
    const annotations = { "control-plane.alpha.kubernetes.io/leader": '{"holderIdentity":"a"}' };
    await client.request({
      verb: "create",
      method: "POST",
      path: "/api/v1/namespaces/default/configmaps",
      body: { metadata: { name: "lock", annotations }, data: { password: "hidden-word" } },
    });
    const recorded: KubeClient = {
      stream: (request) => client.stream(request),
      request: (request) => {
        requests.push(`${request.method} ${request.path}`);
        return client.request(request);
      },
    };
    const environment = stage.environmentOf("operator");
    await examine(environment, recorded, 5_000);
    const body = await environment.files.read(`${savedIn}/objects/configmaps.json`);
    return Buffer.from(body ?? []).toString("utf8");
  });
  expect(files).toContain('"name": "lock"');
  expect(files).not.toContain("hidden-word");
  expect(requests.filter((line) => !line.startsWith("GET ") || /secrets/i.test(line))).toEqual([]);
});
