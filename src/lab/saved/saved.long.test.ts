import { describe, expect, test } from "vitest";
import { MetricsWindow } from "../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../doctor/evidence/prometheus-text.ts";
import type { Network } from "../../environment/network.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { listAt, recordAt, requiredRecord } from "../../kube/kinds/fields.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { startCluster } from "../cluster.ts";
import { Ledger } from "../kubelet/ledger.ts";
import { createShop } from "../shop.ts";
import { MetricsSamples } from "./metrics-samples.ts";
import { NewestLines } from "./newest-lines.ts";
import { checkSaveFolder, Recording, SaveFolderError } from "./recording.ts";

const folder = "/saved";

/** Half a minute of a small cluster of 1.17.3, saved on the machine `user`. */
async function save(simulation: Simulation, recording: Recording): Promise<void> {
  const user = simulation.host("user");
  const cluster = await startCluster({
    name: "blue",
    environmentOf: (part) => simulation.host(part),
    hostOf: (part) => part,
    ports: [6443],
    nodes: 1,
    podNetwork: "10.7",
    profile: "1.17.3",
    ledger: new Ledger(user),
    recorder: recording.forStage(simulation.host("operator")),
  });
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "kubectl" });
  await createShop(client);
  await simulation.sleep(32_000);
  await cluster.stop();
  await cluster.stop();
}

async function textOf(simulation: Simulation, path: string): Promise<string> {
  const content = await simulation.host("user").files.read(`${folder}/${path}`);
  return Buffer.from(content ?? []).toString("utf8");
}

/** When the storage of a cluster committed what, in a run that is recorded or not. */
async function storedIn(recording: Recording | undefined): Promise<readonly string[]> {
  const stored: string[] = [];
  await simulate({ seed: 1 }, async (simulation) => {
    const user = simulation.host("user");
    const recorder = recording?.forStage(simulation.host("operator"), "operator");
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      nodes: 1,
      podNetwork: "10.7",
      profile: "1.17.3",
      ledger: new Ledger(user),
      onStored: (event) => {
        const { key, revision } = event.type === "put" ? event.record : event;
        stored.push(`${simulation.now()} ${event.type} ${key} ${revision}`);
      },
      ...(recorder !== undefined && { recorder }),
    });
    // Longer than the time between two bookmarks, for which the server draws.
    await simulation.sleep(90_000);
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "kubectl" });
    await createShop(client);
    await simulation.sleep(30_000);
    stored.push(`${simulation.now()} the end`);
    await cluster.stop();
  });
  return stored;
}

test("a cluster does the same at the same moments whether it is recorded or not", async () => {
  const alone = await storedIn(undefined);
  expect(alone.length).toBeGreaterThan(20);
  expect(await storedIn(new Recording())).toEqual(alone);
});

test("what an operator would have of a cluster is saved as kubectl lays it out", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const recording = new Recording();
    await save(simulation, recording);
    const { files } = simulation.host("user");
    const saved = await recording.write(files, folder);
    expect(saved.parts).toEqual(["audit", "cluster-info", "metrics", "objects", "recording"]);
    expect(await files.list(`${folder}/cluster-info`)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
      "nodes.json",
    ]);
    expect(await files.list(`${folder}/cluster-info/kube-system`)).toEqual([
      "daemonsets.json",
      "deployments.json",
      "events.json",
      "kube-apiserver-control-plane",
      "kube-controller-manager-control-plane",
      "kube-scheduler-control-plane",
      "pods.json",
      "replicasets.json",
      "replication-controllers.json",
      "services.json",
    ]);
    const logs = "cluster-info/kube-system/kube-apiserver-control-plane/logs.txt";
    expect(await textOf(simulation, logs)).toBe(
      "==== START logs for container kube-apiserver of pod " +
        "kube-system/kube-apiserver-control-plane ====\n" +
        "I0101 00:00:00.000000       1 server.go:150] Version: v1.17.3\n" +
        "I0101 00:00:00.000000       1 secure_serving.go:178] Serving securely on [::]:6443\n" +
        "==== END logs for container kube-apiserver of pod " +
        "kube-system/kube-apiserver-control-plane ====\n",
    );
    const pods = await textOf(simulation, "cluster-info/default/pods.json");
    const list = requiredRecord(JSON.parse(pods), "pods.json");
    expect([list["kind"], list["apiVersion"], listAt(list, "items").length]).toEqual([
      "PodList",
      "v1",
      4,
    ]);
    await expectSamples(simulation);
    await expectAudit(simulation);
  }));

/** With the time of each scrape, and each HELP and TYPE line only once. */
async function expectSamples(simulation: Simulation): Promise<void> {
  const page = await textOf(simulation, "metrics/kube-controller-manager.prom");
  const adds = page
    .split("\n")
    .filter((line) => line.startsWith('workqueue_adds_total{name="endpoint"'));
  const times = adds.map((line) => Number(line.split(" ")[2]));
  expect(times.map((at) => Math.round((at - (times[0] ?? 0)) / 1000))).toEqual([0, 15]);
  expect(page.match(/^# TYPE workqueue_adds_total /gm)).toHaveLength(1);
}

/** With who asked. */
async function expectAudit(simulation: Simulation): Promise<void> {
  const audit = await textOf(simulation, "audit/blue.log");
  const events = audit
    .trimEnd()
    .split("\n")
    .map((line) => requiredRecord(JSON.parse(line), "an event"));
  const users = new Set(events.map((event) => recordAt(event, "user")["username"]));
  expect([...users].map(String).sort()).toEqual([
    "lab-admin",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:node:blue-node-1",
    "system:node:control-plane",
  ]);
}

describe("the folder to save to", () => {
  test("may be new or empty, and nothing else", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("user");
      await checkSaveFolder(files, "/new");
      await files.makeDirectory("/empty");
      await checkSaveFolder(files, "/empty");
      await files.makeDirectory("/full");
      await files.write("/full/notes.txt", "mine");
      await expect(checkSaveFolder(files, "/full")).rejects.toThrow(SaveFolderError);
    }));

  test("has a folder for each stage when there are several with something on them", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const recording = new Recording();
      const operator = simulation.host("operator");
      for (const server of ["one", "", "two"]) {
        const stage = recording.forStage(operator);
        if (server !== "") stage.audit(server, "{}");
      }
      const { files } = simulation.host("user");
      const saved = await recording.write(files, folder);
      expect(saved).toEqual({ folder, files: 2, bytes: 6, parts: ["audit"] });
      expect(await files.list(folder)).toEqual(["stage-1", "stage-2"]);
      expect(await textOf(simulation, "stage-2/audit/two.log")).toBe("{}\n");
    }));
});

test("samples of a long run are thinned out evenly, and can be read as pages", () => {
  const samples = new MetricsSamples();
  const filler = `# HELP a ${"x".repeat(1024 * 1024)}\n`;
  for (let minute = 0; minute < 100; minute += 1) {
    samples.offer({ atMs: minute * 60_000, text: `${filler}a_total ${minute}\n` });
  }
  const kept = parsePrometheusText(samples.text()).map(({ value }) => value);
  expect(kept).toEqual(Array.from({ length: 25 }, (_, index) => index * 4));
  const page = (value: number) => ({
    atMs: value * 60_000,
    samples: parsePrometheusText(`a_total ${value} ${value * 60_000}`),
  });
  expect(new MetricsWindow(page(4), page(8)).increase("a_total")).toBe(4);
});

test("of a long log the newest part is kept", () => {
  const lines = new NewestLines(100 * 10);
  for (let number = 100; number < 300; number += 1) lines.add(`${number} xxxxx`);
  const kept = lines
    .text()
    .trimEnd()
    .split("\n")
    .map((one) => Number(one.split(" ", 1)[0]));
  expect([kept[0], kept.at(-1)]).toEqual([200, 299]);
});

describe("an access log", () => {
  /** A proxy that tries a dead pod and then a living one. */
  async function proxyOnce(simulation: Simulation, network: Network): Promise<void> {
    const listen = { host: "proxy", port: 8080 };
    const pod = await simulation
      .host("pod")
      .network.listen({ host: "pod", port: 80 }, (exchange) =>
        exchange.respond(200).end(Buffer.from("hello")),
      );
    const proxy = await network.listen(listen, async (exchange) => {
      const { target } = exchange.request;
      await network
        .request({ method: "GET", url: `http://pod:81${target}` })
        .catch(() => undefined);
      const answer = await network.request({ method: "GET", url: `http://pod:80${target}` });
      const writer = exchange.respond(answer.status);
      for await (const chunk of answer.body) writer.write(chunk);
      writer.end();
    });
    const client = simulation.host("client");
    const headers = { host: "shop.example", "user-agent": "curl/8" };
    const url = "http://proxy:8080/a?b=1";
    const answer = await client.network.request({ method: "GET", url, headers });
    for await (const _chunk of answer.body) await simulation.sleep(0);
    await simulation.sleep(10);
    await proxy.close();
    await pod.close();
  }

  async function lineOf(form: "ingress-nginx" | "lockstep"): Promise<string> {
    let text = "";
    await simulate({ seed: 1 }, async (simulation) => {
      const recording = new Recording();
      const stage = recording.forStage(simulation.host("operator"));
      const { clock, network } = simulation.host("proxy");
      const proxy = { name: "proxy-1", clock, form, upstreamName: "default-shop-80" };
      await proxyOnce(simulation, stage.proxied(proxy, network));
      [[, text] = ["", ""]] = stage.files();
    });
    return text;
  }

  test("of stock is in ingress-nginx's format", async () => {
    expect(await lineOf("ingress-nginx")).toMatchInlineSnapshot(`
      "203.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "-" "curl/8" 63 0.003 [default-shop-80] [] pod:81, pod:80 0, 5 0.001, 0.001 502, 200 91d7a16854ad2b483f0089d468dc7dae
      "
    `);
  });

  test("of Lockstep is in its own", async () => {
    expect(JSON.parse(await lineOf("lockstep"))).toMatchInlineSnapshot(`
      {
        "bytes": 5,
        "client": "203.0.0.1",
        "epochSeconds": 1767225600.004,
        "host": "shop.example",
        "id": "91d7a16854ad2b483f0089d468dc7dae",
        "method": "GET",
        "responseSeconds": "0.001, 0.001",
        "seconds": 0.003,
        "service": "default-shop-80",
        "status": 200,
        "target": "/a?b=1",
        "time": "2026-01-01T00:00:00+00:00",
        "upstream": "pod:81, pod:80",
        "upstreamStatus": "502, 200",
      }
    `);
  });
});
