// The live part of `lockstep doctor`: examines one cluster within the rate, shows the cost before and
// the progress meanwhile, and saves what was read if a folder is given.
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Facts } from "../../../doctor/evidence/evidence.ts";
import { readCompared } from "../../../doctor/live/compared-cluster.ts";
import { type ApiCost, examineCluster } from "../../../doctor/live/examine-cluster.ts";
import { Gathered } from "../../../doctor/live/gathered.ts";
import { LiveReader } from "../../../doctor/live/live-reader.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { type Files, FilesError, ownerOnly, ownerOnlyFolder } from "../../../environment/files.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { RateLimitedClient } from "../../../kube/client/rate-limited-client.ts";
import { ServerAccess } from "../../../kube/client/server-access.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import type { ObservedCluster } from "../../../observe/observer.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import type { DoctorFlags } from "./command.ts";

export interface LiveSummary {
  readonly cluster: string;
  readonly requests: number;
  readonly watches: number;
  readonly samples: number;
  /** Ended early by the user. */
  readonly isInterrupted: boolean;
  /** Of logs, flags and Events. */
  readonly lines: number;
  /** Parts that could not be examined, each as a sentence. */
  readonly problems: readonly string[];
  /** At least one request had a result. */
  readonly isObserved: boolean;
}

const defaultForMs = 60_000;
const defaultMaxQps = 10;

export interface LiveCluster extends ObservedCluster {
  /** To reach each API server at its own address. */
  readonly access: ClusterAccess | undefined;
}

const userAgent = "lockstep-doctor";

export async function examineLive(
  { environment, terminal, stop }: CommandContext,
  { cluster, client, access }: LiveCluster,
  facts: Facts,
  flags: DoctorFlags,
): Promise<LiveSummary> {
  const { clock, timers, files } = environment;
  const { for: forMs = defaultForMs, maxQps = defaultMaxQps, save } = flags;
  const limited = limitOf({ clock, timers, maxQps });
  const reader = new LiveReader({ client: limited(client), signal: stop });
  const direct = access && new ServerAccess(access, {});
  const serverAt = (address: string): KubeClient | undefined =>
    direct?.mayGoDirect === true
      ? limited(new HttpKubeClient({ ...environment, cluster: direct.at(address), userAgent }))
      : undefined;
  const folder = save === undefined ? undefined : `${save}/${fileName(cluster)}`;
  const gathered = new Gathered({
    facts,
    cluster,
    save: folder === undefined ? undefined : await savingTo(files, folder),
  });
  const progress = new ProgressLine({ terminal, clock });
  const onCost = (cost: ApiCost): void => {
    progress.clear();
    const text = costText(cluster, cost, { forMs, maxQps });
    const lines = wrapText(text, { width: terminal.columns, first: "", rest: "  " });
    terminal.writeError(`${lines.join("\n")}\n`);
  };
  try {
    const examined = await asUsage([FilesError], () =>
      examineCluster({
        ...environment,
        // A watch that is refused or fails is in the report.
        log: errorsOnly(environment.log),
        cluster,
        reader,
        gathered,
        signal: stop,
        forMs,
        maxQps,
        isCompared: flags.compare !== undefined,
        serverAt,
        onCost,
        onProgress: (step, detail) =>
          progress.show(`${visible(cluster)}: ${step}`, visible(detail)),
      }),
    );
    const { requests, watches, problems, answers } = reader;
    const { lines } = gathered;
    return { cluster, requests, watches, ...examined, lines, problems, isObserved: answers > 0 };
  } finally {
    progress.clear();
  }
}

/** All clients of a cluster share one rate. */
function limitOf({
  clock,
  timers,
  maxQps,
}: Pick<Environment, "clock" | "timers"> & { readonly maxQps: number }): (
  client: KubeClient,
) => KubeClient {
  const bucket = new TokenBucket({ clock, timers, qps: maxQps, burst: 1 });
  // Waiting for a token is how the flag works, so it is not reported.
  const onThrottled = (): void => undefined;
  return (client) => new RateLimitedClient({ client, bucket, clock, onThrottled });
}

/** Reads a healthy cluster, to compare; returns what could not be read, each as a sentence. */
export async function readHealthy(
  { environment, terminal, stop }: CommandContext,
  { cluster, client }: ObservedCluster,
  facts: Facts,
  { maxQps = defaultMaxQps }: DoctorFlags,
): Promise<readonly string[]> {
  const { clock, timers } = environment;
  const limited = limitOf({ clock, timers, maxQps });
  const reader = new LiveReader({ client: limited(client), signal: stop });
  const progress = new ProgressLine({ terminal, clock });
  const name = visible(cluster);
  try {
    await readCompared({
      reader,
      gathered: new Gathered({ facts, cluster }),
      onCost: (lists) => {
        progress.clear();
        terminal.writeError(
          `${name}: reads only, to compare. Will list Endpoints, pods and roles in ` +
            `${counted(lists, "request")}, at most ${maxQps} a second.\n`,
        );
      },
      onProgress: (step, detail) => progress.show(`${name}: ${step}`, visible(detail)),
    });
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    progress.clear();
  }
  return reader.problems.map((text) => `${cluster}: ${text}`);
}

/** `blue: will list 3 nodes, …`. */
function costText(
  cluster: string,
  cost: ApiCost,
  { forMs, maxQps }: { readonly forMs: number; readonly maxQps: number },
): string {
  const { objects, lists, watches, perSample, sampleEveryMs, metrics, logs, total } = cost;
  const listed = [...objects].map(([resource, count]) =>
    count === undefined ? `${resource} (number unknown)` : `${numberText(count)} ${resource}`,
  );
  return (
    `${visible(cluster)}: reads only. Will list ${listed.join(", ")} in ${counted(lists, "request")}. ` +
    `For ${durationText(forMs)} it watches pods, services and published endpoints ` +
    `(${counted(watches, "request")}) and samples every ${durationText(sampleEveryMs)} with up to ` +
    `${counted(perSample, "request")}. Then it reads up to ${counted(logs, "log")} and ` +
    `${counted(metrics, "metrics page")}. In total at most ${counted(total, "request")}, at most ` +
    `${maxQps} a second.`
  );
}

/** Makes the folder; each file is for its owner alone. */
async function savingTo(
  files: Files,
  folder: string,
): Promise<(path: string, text: string) => Promise<void>> {
  return asUsage([FilesError], async () => {
    if ((await files.list(folder)).length > 0) {
      throw new UsageError(`${visible(folder)} is not empty: give --save another folder.`);
    }
    await files.makeDirectory(folder);
    await files.setMode(folder, ownerOnlyFolder);
    const begun = new Set<string>();
    return async (path, text) => {
      const file = `${folder}/${path.split("/").map(fileName).join("/")}`;
      if (begun.has(file)) return files.append(file, text);
      begun.add(file);
      await files.makeDirectory(file.slice(0, file.lastIndexOf("/")));
      return files.write(file, text, { mode: ownerOnly });
    };
  });
}

/** Names of contexts may have slashes and colons, and a name from a cluster is never a path. */
function fileName(name: string): string {
  const safe = name.replaceAll(/[^\w.-]/g, "_");
  return /^\.*$/.test(safe) ? "_" : safe;
}
