// An API server and nodes in a simulated world, an observer that writes down every status a pod
// ever had, and a client that asks the pods themselves.

import { NetworkError } from "../../src/environment/network.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { isRecord, listAt, type RawRecord } from "../../src/kube/kinds/fields.ts";
import { Reflector } from "../../src/kube/reflector/reflector.ts";
import { Kubelet } from "../../src/lab/kubelet/kubelet.ts";
import { type KubeletPod, kubeletPodKind } from "../../src/lab/kubelet/kubelet-pod.ts";
import { type KubeletRules, todaysKubelet } from "../../src/lab/kubelet/kubelet-rules.ts";
import { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { PodAddresses } from "../../src/lab/kubelet/pod-addresses.ts";
import { PodLogBook } from "../../src/lab/kubelet/pod-log-book.ts";
import { type ApiWorld, inApiWorld } from "../apiserver/api-world.ts";

export interface SeenPod {
  /** Virtual time, rounded: messages take a millisecond. */
  readonly atSeconds: number;
  readonly type: "added" | "updated" | "deleted";
  readonly pod: KubeletPod;
}

export interface KubeletWorld extends ApiWorld {
  readonly kubelet: Kubelet;
  readonly addresses: PodAddresses;
  readonly ledger: Ledger;
  readonly logs: PodLogBook;
  readonly addNode: (node: string) => Kubelet;
  /** Every version of every pod, as a watch shows them. */
  readonly seen: readonly SeenPod[];
  /** The statuses of one pod in order, with the second each came. */
  readonly statusesOf: (name: string) => readonly { at: number; status: RawRecord }[];
  /** The same in words, repetitions left out: `5 Running ready deleting`, `35 deleted`. */
  readonly timelineOf: (name: string) => readonly string[];
  readonly createPod: (name: string, pod?: PodParts) => Promise<string>;
  readonly deletePod: (name: string, options?: RawRecord) => Promise<void>;
  readonly patchStatus: (name: string, status: RawRecord) => Promise<void>;
  /** The answer of the pod at an address, or the error. */
  readonly ask: (address: string, path?: string) => Promise<unknown>;
}

export interface PodParts {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: RawRecord;
  readonly container?: RawRecord;
  readonly node?: string;
}

export async function inKubeletWorld(
  run: (world: KubeletWorld) => Promise<void>,
  options: {
    readonly seed?: number;
    readonly reuseAfterMs?: number;
    readonly rules?: KubeletRules;
  } = {},
): Promise<void> {
  let logs: PodLogBook | undefined;
  const podLogs: Pick<PodLogBook, "write"> = {
    write: async (...args) => await logs?.write(...args),
  };
  await inApiWorld(
    async (world) => {
      const { clock } = world.simulation.host("lab");
      logs = new PodLogBook({ clock });
      const { reuseAfterMs } = options;
      const addresses = new PodAddresses({
        clock,
        network: "10.9",
        ...(reuseAfterMs === undefined ? {} : { reuseAfterMs }),
      });
      const parts = { addresses, ledger: new Ledger({ clock }), logs };
      const stop = new AbortController();
      const running: Promise<void>[] = [];
      const addNode = (node: string): Kubelet => {
        const environment = world.simulation.host(node);
        const client = clientOf(world, node);
        const { rules = todaysKubelet } = options;
        const own = { client, cluster: "blue", node, rules };
        const kubelet = new Kubelet({ ...environment, ...parts, ...own });
        running.push(kubelet.run(stop.signal));
        return kubelet;
      };
      const seen: SeenPod[] = [];
      const observer = observe(world, seen);
      await run({
        ...world,
        ...parts,
        kubelet: addNode("node-1"),
        addNode,
        seen,
        ...acts(world, seen),
      });
      stop.abort(new Error("the test is over"));
      await Promise.all(running);
      await observer.stop();
    },
    { podLogs },
    options.seed,
  );
}

/** A pod of one container that listens on port 8080, bound to a node. */
export function podObject(name: string, parts: PodParts): object {
  const { annotations = {}, spec = {}, container = {}, node = "node-1" } = parts;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: {
      nodeName: node,
      containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 8080 }], ...container }],
      ...spec,
    },
  };
}

function inWords({ atSeconds, type, pod }: SeenPod): string {
  if (type === "deleted") return `${atSeconds} deleted`;
  const conditions = listAt(pod.status, "conditions").filter(isRecord);
  const isReady = conditions.some((one) => one["type"] === "Ready" && one["status"] === "True");
  const isDeleting = pod.metadata.deletionTimestamp !== undefined;
  const words = [
    atSeconds,
    pod.status["phase"],
    isReady ? "ready" : "",
    isDeleting ? "deleting" : "",
  ];
  return words.filter((word) => word !== "").join(" ");
}

const pods = "/api/v1/namespaces/default/pods";

function acts(world: ApiWorld, seen: readonly SeenPod[]) {
  const { call, client } = world;
  const expectOk = async (reply: ReturnType<ApiWorld["call"]>): Promise<RawRecord> => {
    const { status, json, text } = await reply;
    if (status >= 300 || !isRecord(json)) throw new Error(`refused: ${text}`);
    return json;
  };
  return {
    statusesOf: (name: string) =>
      seen
        .filter(({ pod, type }) => pod.metadata.name === name && type !== "deleted")
        .map(({ atSeconds, pod }) => ({ at: atSeconds, status: pod.status })),
    timelineOf: (name: string) => {
      const lines = seen.filter(({ pod }) => pod.metadata.name === name).map(inWords);
      return lines.filter((line, index) => line !== lines[index - 1]);
    },
    createPod: async (name: string, parts: PodParts = {}) => {
      const { metadata } = await expectOk(call("POST", pods, podObject(name, parts)));
      return isRecord(metadata) ? String(metadata["uid"]) : "";
    },
    deletePod: async (name: string, options: RawRecord = {}) => {
      await expectOk(call("DELETE", `${pods}/${name}`, options));
    },
    patchStatus: async (name: string, status: RawRecord) => {
      const contentType = "application/strategic-merge-patch+json";
      await expectOk(call("PATCH", `${pods}/${name}/status`, { status }, { contentType }));
    },
    ask: async (address: string, path = "/") => {
      try {
        const url = `http://${address}:8080${path}`;
        const response = await client.network.request({ method: "GET", url });
        const chunks: Uint8Array[] = [];
        for await (const chunk of response.body) chunks.push(chunk);
        return JSON.parse(Buffer.concat(chunks).toString("utf8"));
      } catch (error) {
        if (error instanceof NetworkError) return error.code;
        throw error;
      }
    },
  };
}

function clientOf({ simulation }: ApiWorld, host: string): HttpKubeClient {
  const server = "https://server:6443";
  const cluster = fixedAccess({ name: "blue", server, token: "admin-token", tls: {} });
  return new HttpKubeClient({ ...simulation.host(host), cluster, userAgent: host });
}

function observe(world: ApiWorld, seen: SeenPod[]): Reflector<KubeletPod> {
  const { simulation } = world;
  const reflector = new Reflector({
    ...simulation.host("observer"),
    client: clientOf(world, "observer"),
    cluster: "blue",
    kind: kubeletPodKind,
    indexes: {},
    handlers: [
      ({ type, object }) =>
        seen.push({ atSeconds: Math.round(simulation.now() / 1_000), type, pod: object }),
    ],
  });
  reflector.start();
  return reflector;
}
