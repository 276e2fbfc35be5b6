// One request to the status listener of a running ingress: at an address, or in a pod through the API
// server of its cluster, so that no port has to be forwarded. Every failure names the place and a remedy.
import type { Command } from "commander";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import { undecided } from "../../../ingress/status-server.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  parseJson,
  StatusError,
} from "../../../kube/client/client.ts";
import { Deadline } from "../../../kube/client/deadline.ts";
import { readBounded } from "../../../kube/client/http-client-body.ts";
import { CredentialsError } from "../../../kube/credentials/credentials.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import {
  anyText,
  asUsage,
  filePath,
  ipAddress,
  kubeconfigHelp,
  objectName,
  portNumber,
  refuseBoth,
  refuseWithout,
} from "../../flags.ts";
import { typedCommand } from "../../typed-command.ts";
import { watchedClusters } from "../../watched-clusters.ts";

export interface ReplicaFlags {
  readonly statusAddress?: string;
  readonly statusPort: number;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
}

const defaultStatusPort = 10_260;
const defaultStatusAddress = "127.0.0.1";

/** The ingress answers from memory. */
const answerWithinMs = 10_000;

/** Much more than a service with 10,000 endpoints needs. */
const longestAnswerBytes = 64 * 1024 * 1024;

export function addReplicaFlags(command: Command): Command {
  return command
    .optionsGroup("Which ingress:")
    .option("--status-address <ip>", "status address (default: 127.0.0.1)", ipAddress)
    .option("--status-port <port>", "status port of the ingress", portNumber, defaultStatusPort)
    .option("--context <name>", "a replica in this cluster, through its API server", anyText)
    .option("--pod <name>", "this replica there, namespace/name", objectName)
    .option("--kubeconfig <file>", kubeconfigHelp, filePath);
}

/** The answer as JSON. */
export async function askReplica(
  context: CommandContext,
  flags: ReplicaFlags,
  path: string,
): Promise<unknown> {
  const { context: name, pod, statusAddress, kubeconfig } = flags;
  const isInCluster = name !== undefined;
  refuseWithout("--context", isInCluster, {
    "--pod": pod !== undefined,
    "--kubeconfig": kubeconfig !== undefined,
  });
  refuseBoth({ "--context": isInCluster, "--status-address": statusAddress !== undefined });
  if (!isInCluster) return askAddress(context.environment, flags, path);
  const contexts = { kubeconfig, contexts: [name], allContexts: false, accessContexts: [] };
  const userAgent = "lockstep-ingress-explain";
  const { clusters } = await asUsage([CredentialsError], () =>
    watchedClusters(context.environment, { ...contexts, userAgent }, context.stop),
  );
  const [cluster] = clusters;
  if (cluster === undefined) throw new UsageError(`context ${visible(name)} has no cluster`);
  return asUsage([NetworkError, DeadlineExceededError], () =>
    askPod(cluster.client, flags, { context: name, path, signal: context.stop }),
  );
}

async function askAddress(
  { network, timers, processes }: Pick<Environment, "network" | "timers" | "processes">,
  { statusAddress = defaultStatusAddress, statusPort }: ReplicaFlags,
  path: string,
): Promise<unknown> {
  const host = statusAddress.includes(":") ? `[${statusAddress}]` : statusAddress;
  const place = `${host}:${statusPort}`;
  const url = `http://${place}${path}`;
  const deadline = new Deadline({ timers, deadlineMs: answerWithinMs, what: url });
  try {
    const response = await network.request({ method: "GET", url, signal: deadline.signal });
    const text = (await readBounded(response.body, longestAnswerBytes, url)).toString("utf8");
    if (response.status === 200) return JSON.parse(text);
    if (response.status === 503 && text.startsWith(undecided)) {
      const [, ...notes] = text.trimEnd().split("\n").map(visible);
      throw notReady(place, notes);
    }
    throw new UsageError(
      `${url} answered ${response.status}: the port may belong to another program`,
    );
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UsageError(`${url} did not return JSON: the port may belong to another program`);
    }
    if (!(error instanceof NetworkError)) throw error;
    throw new UsageError(
      `no ingress answers at ${place}: ${why(error)}. ` +
        `Start one with ${typedCommand(processes, "ingress")}, ` +
        "give its port with --status-port, or use --context for one in a cluster.",
      { cause: error },
    );
  } finally {
    deadline.release();
  }
}

function notReady(place: string, notes: readonly string[]): UsageError {
  const reason = ["its clusters are not listed yet", ...notes].join("; ");
  return new UsageError(`the ingress at ${place} is not ready yet: ${reason}`);
}

function why({ code, message }: NetworkError): string {
  return code === "REFUSED" ? "connection refused" : message;
}

interface AskedPod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

interface PodRequest {
  readonly context: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

async function askPod(
  client: KubeClient,
  flags: ReplicaFlags,
  { context, path, signal }: PodRequest,
): Promise<unknown> {
  const { pod, statusPort: port } = flags;
  const found =
    pod === undefined ? await findPod(client, flags, { context, signal }) : { ...pod, port };
  const { namespace, name } = found;
  const place = `pod ${namespace}/${name}`;
  try {
    const answer = await client.request({
      verb: "get",
      method: "GET",
      path: `/api/v1/namespaces/${namespace}/pods/${name}:${found.port}/proxy${path}`,
      deadlineMs: answerWithinMs,
      signal,
    });
    return parseJson(answer);
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UsageError(`${place} did not return JSON at port ${found.port}; see --status-port`);
    }
    throw error instanceof StatusError ? podProblem(error, found) : error;
  }
}

function podProblem(error: StatusError, { namespace, name, port }: AskedPod): Error {
  const place = `pod ${namespace}/${name}`;
  const message = visible(error.message);
  if (error.code === 403) {
    return new UsageError(
      `no permission for ${place}: grant "get" on pods/proxy in namespace ${namespace}, or use ` +
        `kubectl port-forward -n ${namespace} ${name} ${port} and no --context (${message})`,
    );
  }
  if (message.includes(undecided)) return notReady(place, []);
  if (error.code === 404 && message.startsWith("pods ")) {
    return new UsageError(`there is no ${place}; without --pod the first ready replica is asked`);
  }
  const hint =
    "its status listener must be reachable for the API server: --status-address 0.0.0.0 there, " +
    "and no NetworkPolicy that forbids it";
  return new UsageError(`${place} does not answer at port ${port}: ${message}; ${hint}`);
}

/** The labels in deploy/ingress and in the chart. */
const selectors = [
  "app=lockstep-ingress",
  "app.kubernetes.io/name=lockstep,app.kubernetes.io/component=ingress",
];

/** Replicas of one ingress are few. */
const podsMost = 100;

/** The first ready replica, by name. */
async function findPod(
  client: KubeClient,
  { statusPort }: ReplicaFlags,
  { context, signal }: Pick<PodRequest, "context" | "signal">,
): Promise<AskedPod> {
  const pods: RawRecord[] = [];
  for (const selector of selectors) {
    const query = new URLSearchParams({ labelSelector: selector, limit: String(podsMost) });
    const path = `/api/v1/pods?${query}`;
    try {
      const deadlineMs = answerWithinMs;
      const request = { verb: "list", method: "GET", path, deadlineMs, signal } as const;
      const list = parseJson(await client.request(request));
      if (isRecord(list)) pods.push(...listAt(list, "items").filter(isRecord));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw new UsageError(
        `cannot look for replicas in ${visible(context)}: ${visible(error.message)}; ` +
          'grant "list" on pods, or name one with --pod namespace/name',
        { cause: error },
      );
    }
  }
  const ready = pods.filter(isReady).map((pod) => podOf(pod, statusPort));
  const [first] = ready.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  if (first !== undefined) return first;
  const seen = pods.length === 0 ? "no pod" : `${pods.length} pods, but none is ready,`;
  throw new UsageError(
    `${visible(context)} has ${seen} with the labels of Lockstep's ingress ` +
      `(${selectors.join(" or ")}): name one with --pod namespace/name`,
  );
}

function keyOf({ namespace, name }: AskedPod): string {
  return `${namespace}/${name}`;
}

function isReady(pod: RawRecord): boolean {
  const conditions = listAt(recordAt(pod, "status"), "conditions").filter(isRecord);
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** The container port named `status`, else the port of the flag. */
function podOf(pod: RawRecord, otherwise: number): AskedPod {
  const metadata = recordAt(pod, "metadata");
  const containers = listAt(recordAt(pod, "spec"), "containers").filter(isRecord);
  const ports = containers.flatMap((container) => listAt(container, "ports").filter(isRecord));
  const port = ports.find(({ name }) => name === "status")?.["containerPort"];
  return {
    namespace: String(metadata["namespace"]),
    name: String(metadata["name"]),
    port: typeof port === "number" ? port : otherwise,
  };
}
