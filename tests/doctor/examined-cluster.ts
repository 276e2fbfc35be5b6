// A cluster in virtual time that the doctor examines: it knows nothing but a client. The saved
// files are read again, so that a test can compare both results.
import { type Diagnosis, diagnose } from "../../src/doctor/diagnose.ts";
import { evidenceIn, type Facts, noFacts } from "../../src/doctor/evidence/evidence.ts";
import { emptySummary, readPath } from "../../src/doctor/evidence/read-paths.ts";
import { type ApiCost, examineCluster } from "../../src/doctor/live/examine-cluster.ts";
import { Gathered } from "../../src/doctor/live/gathered.ts";
import { LiveReader } from "../../src/doctor/live/live-reader.ts";
import type { ServerAt } from "../../src/doctor/live/servers-check.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../../src/lab/cluster.ts";
import type { Stage } from "../../src/lab/incidents/stage.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import { Ledger } from "../../src/lab/kubelet/ledger.ts";

export const minuteMs = 60_000;
export const savedIn = "/saved";

export interface Examined extends Diagnosis {
  /** From what was saved. */
  readonly offline: Diagnosis;
  readonly facts: Facts;
  readonly problems: readonly string[];
  readonly costs: readonly ApiCost[];
  readonly requests: number;
}

export interface ExamineOptions {
  readonly forMs: number;
  readonly maxQps?: number;
  readonly signal?: AbortSignal;
  readonly isCompared?: boolean;
  readonly serverAt?: ServerAt;
}

export async function examine(
  environment: Environment,
  client: KubeClient,
  {
    forMs,
    maxQps = 10,
    signal = new AbortController().signal,
    isCompared = false,
    serverAt,
  }: ExamineOptions,
): Promise<Examined> {
  const { files, log } = environment;
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
    maxQps,
    isCompared,
    serverAt,
    onCost: (cost) => void costs.push(cost),
    onProgress: () => undefined,
  });
  const read = noFacts();
  const { signal: open } = new AbortController();
  await readPath({ files, log, facts: read, signal: open }, savedIn, emptySummary());
  const { problems, requests } = reader;
  const offline = diagnose(evidenceIn(read));
  return { ...diagnose(evidenceIn(facts)), offline, facts, problems, costs, requests };
}

/** `critical ghost-leader (certain: two sources)`, the most important first. */
export function named({ findings }: Diagnosis): readonly string[] {
  return findings.map(({ rule, severity, confidence }) => `${severity} ${rule} (${confidence})`);
}

export function aboveInfo({ findings }: Diagnosis): readonly string[] {
  return findings
    .filter(({ severity }) => severity !== "info")
    .map(({ rule, severity, evidence }) => `${severity} ${rule}: ${evidence[0]?.text ?? ""}`);
}

export function onStage<Result>(
  play: (stage: Stage) => Promise<Result>,
  seed = 1,
): Promise<Result> {
  return new VirtualStages({ seed }).open(play);
}

/** A cluster and the client of its administrator. */
export function withCluster<Result>(
  { seed = 1, ...options }: Partial<ClusterOptions> & { readonly seed?: number },
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
  }, seed);
}

/** Endpoints list addresses, and a simulated machine has only a name. */
export const serverAddressOf = (_server: string, index: number): string => `10.0.0.${index + 1}`;
