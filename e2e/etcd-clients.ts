// Clients of a lab whose servers die: a writer that keeps a ledger of what was acknowledged, and a
// watcher that goes from server to server and must miss nothing. Both use any server that is there.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Environment } from "../src/environment/environment.ts";
import { type KubeClient, StatusError } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { ServerBalancer } from "../src/lab/processes/server-balancer.ts";
import type { LabProcess } from "./lab-process.ts";

const path = "/api/v1/namespaces/default/configmaps";
const label = "ledger=yes";

/** Longer than a server keeps a request whose etcd is away. */
const deadlineMs = 70_000;

export function clientOf(environment: Environment, lab: LabProcess): KubeClient {
  const balancer = new ServerBalancer(environment.network);
  const urls = lab.servers.map(({ url }) => url);
  balancer.serve(urls);
  const config = parse(readFileSync(lab.kubeconfig, "utf8"));
  const ca = Buffer.from(config.clusters[0].cluster["certificate-authority-data"], "base64");
  const cluster = fixedAccess({
    name: "lab-1",
    server: urls[0] ?? "",
    token: config.users[0].user.token,
    tls: { ca: ca.toString("utf8") },
  });
  return new HttpKubeClient({ ...environment, network: balancer, cluster, userAgent: "e2e" });
}

export class LedgerWriter {
  /** Name and resourceVersion of what a server said is stored. */
  readonly acknowledged = new Map<string, number>();
  /** Writes without an answer: they may be stored or not. */
  readonly unknown = new Set<string>();
  /** Refusals that say for sure what happened, of which there must be none. */
  readonly refused: unknown[] = [];
  readonly #client: KubeClient;
  #stopped = false;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(lane: number): Promise<void> {
    for (let number = 0; !this.#stopped; number += 1) await this.#create(`of-${lane}-${number}`);
  }

  async #create(name: string): Promise<void> {
    const metadata = { name, labels: { ledger: "yes" } };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata };
    try {
      const { body: answer } = await this.#client.request({
        verb: "create",
        method: "POST",
        path,
        body,
        deadlineMs,
      });
      const stored = JSON.parse(answer.toString("utf8"));
      this.acknowledged.set(name, Number(stored.metadata.resourceVersion));
    } catch (error) {
      const isCertain = error instanceof StatusError && error.code < 500;
      if (isCertain) this.refused.push(error);
      this.unknown.add(name);
    }
  }
}

export class LedgerWatcher {
  /** Name and resourceVersion in the order of arrival. */
  readonly received: [string, number][] = [];
  /** Why it would have had to list again: there must be no such reason. */
  readonly gaps: string[] = [];
  connections = 0;
  readonly #client: KubeClient;
  readonly #environment: Environment;
  readonly #ended = new AbortController();
  #version = "";

  constructor(environment: Environment, client: KubeClient) {
    this.#environment = environment;
    this.#client = client;
  }

  get lastVersion(): number {
    return Number(this.#version);
  }

  stop(): void {
    this.#ended.abort();
  }

  async run(): Promise<void> {
    const { signal } = this.#ended;
    this.#version = await this.#listedVersion();
    while (!signal.aborted && this.gaps.length === 0) {
      // The next connection goes on where this one broke, at this server or at another.
      await this.#follow().catch((error: unknown) => this.#judge(error));
      await this.#environment.timers.sleep(50, signal).catch(() => undefined);
    }
  }

  async #listedVersion(): Promise<string> {
    const { body } = await this.#client.request({ verb: "list", method: "GET", path, deadlineMs });
    return JSON.parse(body.toString("utf8")).metadata.resourceVersion;
  }

  async #follow(): Promise<void> {
    const query = `watch=true&labelSelector=${label}&resourceVersion=${this.#version}`;
    const response = await this.#client.stream({
      verb: "watch",
      method: "GET",
      path: `${path}?${query}&allowWatchBookmarks=true`,
      deadlineMs,
      signal: this.#ended.signal,
    });
    this.connections += 1;
    let rest = "";
    for await (const chunk of response.body) {
      const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#hear(JSON.parse(line));
    }
  }

  #hear(event: { readonly type: string; readonly object: ReceivedObject }): void {
    if (event.type === "ERROR") {
      this.gaps.push(event.object.message ?? "");
      return;
    }
    const { name = "", resourceVersion = "" } = event.object.metadata;
    this.#version = resourceVersion;
    if (event.type !== "BOOKMARK") this.received.push([name, Number(resourceVersion)]);
  }

  /** A server that does not serve is left for another; one that has forgotten is a gap. */
  #judge(error: unknown): void {
    if (error instanceof StatusError && error.code === 410) this.gaps.push(error.message);
  }
}

interface ReceivedObject {
  readonly message?: string;
  readonly metadata: { readonly name?: string; readonly resourceVersion?: string };
}

/** The stored part of the ledger at the end. */
export async function storedLedger(client: KubeClient): Promise<Map<string, number>> {
  const { body } = await client.request({
    verb: "list",
    method: "GET",
    path: `${path}?labelSelector=${label}`,
    deadlineMs,
  });
  const { items } = JSON.parse(body.toString("utf8")) as { items: ReceivedObject[] };
  return new Map(
    items.map(({ metadata }) => [metadata.name ?? "", Number(metadata.resourceVersion)]),
  );
}
