// `--from-context`: reads the size of a cluster and the flags of its controllers. It first prints its
// requests and only reads: all services in pages, but one pod and one node, because a list also reports
// the number of remaining items.

import { resolve as absolute } from "node:path";
import { type KubeClient, parseJson, StatusError } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { kubeconfigAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import {
  isRecord,
  listAt,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";
import { nearestProfile } from "../../../lab/versions/nearest-profile.ts";
import type { ProfileName } from "../../../lab/versions/profiles.ts";
import { type InputKey, inputNamed, readInput } from "../../../lab/whatif/inputs.ts";
import { problemText } from "../../../observe/problem-text.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { numberText } from "../../terminal/value-text.ts";

interface ClusterCounts {
  readonly given: Readonly<Partial<Record<InputKey, number>>>;
  readonly version: ProfileName;
  readonly gitVersion: string;
  /** The pod of the controller manager is visible, and with it its flags. */
  readonly hasFlags: boolean;
  /** No controller publishes endpoints for these services, so they are not simulated. */
  readonly withoutSelector: number;
  readonly withSelector: number;
}

const pageSize = 500;

/** A server with more pages never ends its list. */
const pagesMax = 1_000;

const requestDeadlineMs = 30_000;

export function readingStatement(context: string): string {
  return `Reading from ${context}, and writing nothing:
  GET /version
  GET services of all namespaces, in pages of ${pageSize}
  GET one pod and one node, to read how many exist
  GET the pods of kube-controller-manager in kube-system, for their flags
`;
}

export async function readCounts(client: KubeClient, signal: AbortSignal): Promise<ClusterCounts> {
  const reader = new CountsReader(client, signal);
  const version = await reader.get("/version");
  const gitVersion = optionalString(version, "gitVersion") ?? "";
  const services = await reader.services();
  const flags = await reader.managerFlags();
  const { selected, headless } = services;
  return {
    given: {
      services: Math.max(inputNamed("services")?.from ?? 1, selected),
      "headless-share": selected === 0 ? 0 : headless / selected,
      pods: Math.max(1, await reader.count("/api/v1/pods")),
      nodes: Math.max(1, await reader.count("/api/v1/nodes")),
      ...flags,
    },
    version: nearestProfile(gitVersion),
    gitVersion,
    hasFlags: flags !== undefined,
    withSelector: selected,
    withoutSelector: services.all - selected,
  };
}

class CountsReader {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;

  constructor(client: KubeClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async get(path: string): Promise<RawRecord> {
    const limits = { deadlineMs: requestDeadlineMs, signal: this.#signal };
    try {
      const answer = await this.#client.request({ verb: "list", method: "GET", path, ...limits });
      const body = parseJson(answer);
      if (isRecord(body)) return body;
    } catch (error) {
      const code = error instanceof StatusError ? error.code : undefined;
      if (code === 401) throw new UsageError(problemText(error), { cause: error });
      if (code !== 403) throw error;
      const refused = `these credentials have no permission to read ${path.split("?")[0]}`;
      throw new UsageError(refused, { cause: error });
    }
    throw new UsageError(`the answer to GET ${path} is not an object`);
  }

  async services(): Promise<{ all: number; selected: number; headless: number }> {
    const counted = { all: 0, selected: 0, headless: 0 };
    for await (const service of this.#pages("/api/v1/services")) {
      const spec = recordAt(service, "spec");
      const isSelected = Object.keys(recordAt(spec, "selector")).length > 0;
      counted.all += 1;
      if (isSelected) counted.selected += 1;
      if (isSelected && optionalString(spec, "clusterIP") === "None") counted.headless += 1;
    }
    return counted;
  }

  /** From `remainingItemCount`, or page by page where the server does not report it. */
  async count(path: string): Promise<number> {
    const first = await this.get(`${path}?limit=1`);
    const metadata = recordAt(first, "metadata");
    const remaining = optionalNumber(metadata, "remainingItemCount");
    const here = listAt(first, "items").length;
    if (remaining !== undefined) return here + remaining;
    if ((optionalString(metadata, "continue") ?? "") === "") return here;
    let counted = 0;
    for await (const _ of this.#pages(path)) counted += 1;
    return counted;
  }

  /** Undefined when the pod is not visible, for example on a managed control plane. */
  async managerFlags(): Promise<Readonly<Partial<Record<InputKey, number>>> | undefined> {
    const selector = encodeURIComponent("component=kube-controller-manager");
    const list = await this.get(
      `/api/v1/namespaces/kube-system/pods?limit=10&labelSelector=${selector}`,
    );
    const [pod] = listAt(list, "items").filter(isRecord);
    if (pod === undefined) return undefined;
    const containers = listAt(recordAt(pod, "spec"), "containers").filter(isRecord);
    const words = containers.flatMap((container) => [
      ...listAt(container, "command"),
      ...listAt(container, "args"),
    ]);
    return flagsOf(words.filter((word) => typeof word === "string"));
  }

  async *#pages(path: string): AsyncGenerator<RawRecord, void, undefined> {
    let token = "";
    for (let page = 0; page < pagesMax; page += 1) {
      const next = token === "" ? "" : `&continue=${encodeURIComponent(token)}`;
      const list = await this.get(`${path}?limit=${pageSize}${next}`);
      yield* listAt(list, "items").filter(isRecord);
      token = optionalString(recordAt(list, "metadata"), "continue") ?? "";
      if (token === "") return;
    }
  }
}

const flagKeys: Readonly<Record<string, InputKey>> = {
  "kube-api-qps": "qps",
  "kube-api-burst": "burst",
  "concurrent-endpoint-syncs": "workers",
  "min-resync-period": "resync",
  "endpoint-updates-batch-period": "batch-period",
  "node-monitor-grace-period": "grace-period",
};

/** Only flags that `lockstep whatif` has; an unreadable value is ignored. */
export function flagsOf(words: readonly string[]): Readonly<Partial<Record<InputKey, number>>> {
  const flags: Partial<Record<InputKey, number>> = {};
  for (const word of words) {
    const [, name = "", text = ""] = /^--([\w-]+)=(.*)$/.exec(word) ?? [];
    const key = flagKeys[name];
    const input = key && inputNamed(key);
    if (key === undefined || input === undefined) continue;
    const read = readInput(input, text);
    if ("value" in read) flags[key] = read.value;
  }
  return flags;
}

export async function readFromContext(
  { environment, terminal, stop }: CommandContext,
  { name, kubeconfig }: { readonly name: string; readonly kubeconfig: string | undefined },
): Promise<ClusterCounts> {
  const path = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  const [cluster] = await kubeconfigAccess({ ...environment, path, contexts: [name] });
  if (cluster === undefined) throw new UsageError(`the kubeconfig gives no access to ${name}`);
  terminal.writeError(readingStatement(name));
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep-whatif" });
  const counts = await readCounts(client, stop);
  terminal.writeError(`${foundText(counts)}\n`);
  return counts;
}

function foundText(counts: ClusterCounts): string {
  const { given, gitVersion, version, hasFlags, withSelector, withoutSelector } = counts;
  const { services = 0, pods = 0, nodes = 0 } = given;
  const padded =
    services > withSelector
      ? `Fewer than ${services} services are simulated as ${services}.\n`
      : "";
  const flags = hasFlags
    ? "with the flags of its controller manager"
    : "with default flags because its controller manager is not visible";
  return (
    `Found services: ${numberText(withSelector)} with a selector, ` +
    `${numberText(withoutSelector)} without; pods: ${numberText(pods)}; nodes: ` +
    `${numberText(nodes)}.\n${padded}It is ${gitVersion}, simulated as ${version}, ${flags}.`
  );
}
