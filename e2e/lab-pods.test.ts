// Pods of `lockstep lab` as a person meets them: a deployment leads to servers on addresses of their
// own that answer who they are, and what is deleted answers no more. kubectl acts where the machine
// has one; else the same requests go through our own client.
import { execFile } from "node:child_process";
import { webcrypto } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NetworkError } from "../src/environment/network.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type KubeClient, parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../src/kube/kinds/fields.ts";
import { type Lab, startLab } from "../src/lab/lab.ts";
import { startLabProcess } from "./lab-process.ts";

const environment = nodeEnvironment();
const { timers, network } = environment;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const pods = "/api/v1/namespaces/default/pods";

let lab: Lab;
let client: KubeClient;
beforeAll(async () => {
  const host = "127.0.0.1";
  const size = { clusters: 1, apiservers: 1, nodes: 2 };
  lab = await startLab({ environment, crypto: webcrypto, ...size, host, firstPort: 0 });
  const [cluster] = lab.clusters;
  if (cluster === undefined) throw new Error("the lab has no cluster");
  client = new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: "e2e" });
});
afterAll(() => lab?.stop());

it("runs the pods of a deployment on addresses of their own until they are deleted", async () => {
  await send("POST", deployments, deployment("web", 3));
  const ready = await eventually(() => readyPods("web"), 3);
  const addresses = ready.map(addressOf);
  expect(new Set(addresses).size).toBe(3);
  expect(new Set(ready.map((pod) => recordAt(pod, "spec")["nodeName"]))).toEqual(
    new Set(["lab-1-node-1", "lab-1-node-2"]),
  );
  for (const pod of ready) {
    const { name, uid } = recordAt(pod, "metadata");
    const address = addressOf(pod);
    expect(await ask(address)).toMatchObject({ cluster: "lab-1", pod: name, uid, address });
    expect(lab.ledger.ownerAt(address, environment.clock.monotonicMs())).toBe(uid);
  }
  const [first] = ready;
  const name = String(recordAt(first ?? {}, "metadata")["name"]);
  await send("DELETE", `${pods}/${name}`);
  await eventually(async () => ((await ask(addresses[0] ?? "")) === "REFUSED" ? [1] : []), 1);
  const replaced = await eventually(() => readyPods("web"), 3);
  expect(replaced.map(addressOf)).not.toContain(addresses[0]);
  await send("DELETE", `${deployments}/web`);
  await eventually(async () => ((await allPods("web")).length === 0 ? [1] : []), 1);
  for (const pod of replaced) expect(await ask(addressOf(pod))).toBe("REFUSED");
});

it("finishes the requests that a pod has when it is deleted", async () => {
  const annotations = { "lab.lockstep.dev/response-time": "700ms" };
  await send("POST", deployments, deployment("slow", 1, annotations));
  const [pod = {}] = await eventually(() => readyPods("slow"), 1);
  const address = addressOf(pod);
  const underWay = ask(address);
  await timers.sleep(100);
  // Both sides are of this process: if it stood still, it gets to them first.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  await send("DELETE", `${pods}/${String(recordAt(pod, "metadata")["name"])}`);
  await eventually(async () => ((await ask(address)) === "REFUSED" ? [1] : []), 1);
  expect(await underWay).toMatchObject({ address });
  await send("DELETE", `${deployments}/slow`);
});

it("leaves nothing listening when the lab stops", async () => {
  const host = "127.0.0.1";
  const size = { clusters: 1, apiservers: 1, nodes: 1 };
  const short = await startLab({ environment, crypto: webcrypto, ...size, host, firstPort: 0 });
  const [cluster] = short.clusters;
  if (cluster === undefined) throw new Error("the lab has no cluster");
  const own = new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: "e2e" });
  await send("POST", deployments, deployment("left", 2), own);
  const ready = await eventually(() => readyPods("left", own), 2);
  await short.stop();
  expect(await Promise.all(ready.map((pod) => ask(addressOf(pod))))).toEqual([
    "REFUSED",
    "REFUSED",
  ]);
});

const run = promisify(execFile);
const hasKubectl = await run("kubectl", ["version", "--client"]).then(
  () => true,
  () => false,
);

it.skipIf(!hasKubectl)("obeys kubectl: create, rollout, scale, logs, delete", async () => {
  const labProcess = await startLabProcess();
  try {
    const variables = {
      PATH: process.env["PATH"],
      HOME: "/tmp",
      KUBECONFIG: labProcess.kubeconfig,
    };
    const kubectl = async (...args: readonly string[]): Promise<string> => {
      const options = { env: variables, timeout: 100_000 };
      return (await run("kubectl", [...args], options)).stdout;
    };
    await kubectl("create", "deployment", "web", "--image=web", "--port=8080", "--replicas=3");
    await kubectl("rollout", "status", "deployment", "web", "--timeout=90s");
    const ips = "jsonpath={.items[*].status.podIP}";
    const before = (await kubectl("get", "pods", "-l", "app=web", "-o", ips)).split(" ");
    expect(before.length).toBe(3);
    await kubectl("rollout", "restart", "deployment", "web");
    await kubectl("rollout", "status", "deployment", "web", "--timeout=90s");
    await kubectl("scale", "deployment", "web", "--replicas=1");
    const addresses = async (): Promise<readonly string[]> =>
      (await kubectl("get", "pods", "-l", "app=web", "-o", ips)).split(" ");
    const [address = ""] = await eventually(addresses, 1);
    expect(before).not.toContain(address);
    await ask(address, "/from-the-test");
    const logs = await kubectl("logs", "deployment/web");
    expect(logs).toBe(`listening on ${address}, ports 8080\nGET /from-the-test 200\n`);
    await kubectl("delete", "deployment", "web");
    await eventually(async () => ((await ask(address)) === "REFUSED" ? [1] : []), 1);
  } finally {
    await labProcess.stop();
  }
});

function deployment(name: string, replicas: number, annotations: object = {}): object {
  const labels = { app: name };
  const container = { name: "web", image: "web", ports: [{ containerPort: 8080 }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: { containers: [container] } },
    },
  };
}

async function send(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: object,
  through: KubeClient = client,
): Promise<RawRecord> {
  const verb = ({ GET: "get", POST: "create", DELETE: "delete" } as const)[method];
  const request = { verb, method, path, deadlineMs: 240_000 };
  const answer = parseJson(
    await through.request(body === undefined ? request : { ...request, body }),
  );
  return isRecord(answer) ? answer : {};
}

async function allPods(app: string, through?: KubeClient): Promise<readonly RawRecord[]> {
  const path = `${pods}?labelSelector=app%3D${app}`;
  return listAt(await send("GET", path, undefined, through), "items").filter(isRecord);
}

async function readyPods(app: string, through?: KubeClient): Promise<readonly RawRecord[]> {
  return (await allPods(app, through)).filter((pod) =>
    listAt(recordAt(pod, "status"), "conditions")
      .filter(isRecord)
      .some(({ type, status }) => type === "Ready" && status === "True"),
  );
}

function addressOf(pod: RawRecord): string {
  return String(recordAt(pod, "status")["podIP"]);
}

/** The answer of the pod at an address, or the error. */
async function ask(address: string, path = "/"): Promise<unknown> {
  try {
    const url = `http://${address}:8080${path}`;
    const headers = { connection: "close" };
    const { body } = await network.request({ method: "GET", url, headers });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (error) {
    if (error instanceof NetworkError) return error.code;
    throw error;
  }
}

/** Asks until there are so many; the test's own limit of time ends it otherwise. */
async function eventually<Item>(
  items: () => Promise<readonly Item[]>,
  count: number,
): Promise<readonly Item[]> {
  for (;;) {
    const found = await items();
    if (found.length === count) return found;
    await timers.sleep(50);
  }
}
