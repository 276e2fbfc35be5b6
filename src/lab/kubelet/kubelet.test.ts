import { expect, it } from "vitest";
import { inKubeletWorld, type KubeletWorld } from "../../../tests/kubelet/kubelet-world.ts";
import { isRecord, listAt } from "../../kube/kinds/fields.ts";

const lab = "lab.lockstep.dev/";
const second = (number: number): string => `2026-01-01T00:00:${String(number).padStart(2, "0")}Z`;

it("takes a pod step by step from Pending to Ready", () =>
  inKubeletWorld(async ({ createPod, simulation, statusesOf }) => {
    await simulation.sleep(1_000);
    const uid = await createPod("web", { annotations: { [`${lab}ready-after`]: "3s" } });
    await simulation.sleep(20_000);
    const fixed = {
      qosClass: "BestEffort",
      hostIP: "10.9.0.1",
      hostIPs: [{ ip: "10.9.0.1" }],
      podIP: "10.9.0.2",
      podIPs: [{ ip: "10.9.0.2" }],
      startTime: second(1),
    };
    const unready = {
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [web]",
      lastProbeTime: null,
      lastTransitionTime: second(1),
    };
    const done = { status: "True", lastProbeTime: null, lastTransitionTime: second(1) };
    const ready = { status: "True", lastProbeTime: null, lastTransitionTime: second(4) };
    const conditions = (readiness: object) => [
      { type: "Initialized", ...done },
      { type: "Ready", ...readiness },
      { type: "ContainersReady", ...readiness },
      { type: "PodScheduled", ...done },
    ];
    const web = { name: "web", image: "web:1", imageID: "web:1", restartCount: 0, lastState: {} };
    const waiting = {
      ready: false,
      started: false,
      state: { waiting: { reason: "ContainerCreating" } },
    };
    const running = {
      ...web,
      containerID: `lab://${uid}/web/0`,
      state: { running: { startedAt: second(1) } },
    };
    expect(statusesOf("web")).toEqual([
      { at: 1, status: { phase: "Pending", qosClass: "BestEffort" } },
      {
        at: 1,
        status: {
          ...fixed,
          phase: "Pending",
          conditions: conditions(unready),
          containerStatuses: [{ ...web, ...waiting }],
        },
      },
      {
        at: 1,
        status: {
          ...fixed,
          phase: "Running",
          conditions: conditions(unready),
          containerStatuses: [{ ...running, ready: false, started: false }],
        },
      },
      {
        at: 4,
        status: {
          ...fixed,
          phase: "Running",
          conditions: conditions(ready),
          containerStatuses: [{ ...running, ready: true, started: true }],
        },
      },
    ]);
  }));

it("lets the pod answer who it is, and 503 before it is ready", () =>
  inKubeletWorld(async ({ createPod, simulation, ask, client }) => {
    const uid = await createPod("web", { annotations: { [`${lab}ready-after`]: "3s" } });
    await simulation.sleep(1_000);
    const url = "http://10.9.0.2:8080/a?b=c";
    const early = await client.network.request({ method: "GET", url });
    expect(early.status).toBe(503);
    await simulation.sleep(3_000);
    expect(await ask("10.9.0.2", "/a?b=c")).toEqual({
      cluster: "blue",
      namespace: "default",
      pod: "web",
      uid,
      node: "node-1",
      address: "10.9.0.2",
      port: 8080,
      method: "GET",
      path: "/a?b=c",
      host: "",
      headers: {},
    });
  }));

it("restarts a crashed container, at once the first time and then more and more slowly", () =>
  inKubeletWorld(async ({ createPod, simulation, timelineOf, statusesOf, ledger, call }) => {
    const uid = await createPod("web", { annotations: { [`${lab}crash-after`]: "5s" } });
    await simulation.sleep(60_000);
    expect(timelineOf("web")).toEqual([
      "0 Pending",
      "0 Running ready",
      "5 Running",
      "5 Running ready",
      "10 Running",
      "20 Running",
      "20 Running ready",
      "25 Running",
      "45 Running",
      "45 Running ready",
      "50 Running",
    ]);
    const spells = ledger.spells("10.9.0.2").map(({ since, until = 0 }) => [since, until]);
    expect(spells.map((spell) => spell.map((ms) => Math.round(ms / 1_000)))).toEqual([
      [0, 5],
      [5, 10],
      [20, 25],
      [45, 50],
    ]);
    const [container] = listAt(statusesOf("web").at(-1)?.status ?? {}, "containerStatuses");
    expect(container).toEqual({
      name: "web",
      image: "web:1",
      imageID: "web:1",
      containerID: `lab://${uid}/web/3`,
      ready: false,
      started: false,
      restartCount: 3,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: `back-off 40s restarting failed container=web pod=web_default(${uid})`,
        },
      },
      lastState: {
        terminated: {
          exitCode: 1,
          reason: "Error",
          startedAt: second(45),
          finishedAt: second(50),
        },
      },
    });
    const log = await call("GET", "/api/v1/namespaces/default/pods/web/log?previous=true");
    expect(log.text).toBe("listening on 10.9.0.2, ports 8080\ncrashing\nexited with code 1\n");
  }));

it("crashes a pod on demand, and knows no pod of another uid", () =>
  inKubeletWorld(async ({ createPod, simulation, kubelet, ledger, ask }) => {
    const uid = await createPod("web");
    await simulation.sleep(1_000);
    expect(kubelet.crash("nobody")).toBe(false);
    expect(kubelet.crash(uid)).toBe(true);
    await simulation.sleep(1_000);
    expect(ledger.spells("10.9.0.2").length).toBe(2);
    expect(await ask("10.9.0.2")).toMatchObject({ uid });
  }));

it("leaves a pod that is not to be restarted as it ended", () =>
  inKubeletWorld(async ({ createPod, simulation, timelineOf, kubelet, ask }) => {
    const uid = await createPod("job", { spec: { restartPolicy: "Never" } });
    await simulation.sleep(5_000);
    kubelet.crash(uid);
    await simulation.sleep(60_000);
    expect(timelineOf("job")).toEqual(["0 Pending", "0 Running ready", "5 Failed"]);
    expect(await ask("10.9.0.2")).toBe("REFUSED");
  }));

it("runs the readiness probe and takes its result after as many answers as the spec requires", () =>
  inKubeletWorld(async (world) => {
    const { simulation, createPod, timelineOf } = world;
    await simulation.sleep(10_000);
    const probe = { periodSeconds: 2, failureThreshold: 2, successThreshold: 2 };
    await createPod("good", {
      container: { readinessProbe: { ...probe, httpGet: { port: 8080, path: "/ready" } } },
    });
    await createPod("bad", {
      annotations: { [`${lab}status`]: "500" },
      container: { readinessProbe: { ...probe, httpGet: { port: 8080 } } },
    });
    await createPod("tcp", {
      annotations: { [`${lab}status`]: "500" },
      container: {
        ports: [{ name: "http", containerPort: 8080 }],
        readinessProbe: { ...probe, initialDelaySeconds: 5, tcpSocket: { port: "http" } },
      },
    });
    await createPod("elsewhere", {
      container: { readinessProbe: { ...probe, tcpSocket: { port: 9090 } } },
    });
    await simulation.sleep(20_000);
    const begin = ["10 Pending", "10 Running"];
    expect(["good", "bad", "tcp", "elsewhere"].map(timelineOf)).toEqual([
      [...begin, "12 Running ready"],
      begin,
      [...begin, "17 Running ready"],
      begin,
    ]);
    expect(await eventsOf(world, "bad")).toContain(
      "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500",
    );
  }));

it("posts no status that the server has already", () =>
  inKubeletWorld(async ({ createPod, simulation, server }) => {
    const posts = async (): Promise<number> => {
      const lines = (await server.metrics.metrics()).split("\n");
      const line = lines.find((one) => /^apiserver_request_total\{.*verb="PATCH".*pods/.test(one));
      return Number(line?.split(" ").at(-1));
    };
    await createPod("web");
    await simulation.sleep(13_000);
    const before = await posts();
    expect(before).toBeGreaterThan(0);
    await simulation.sleep(60_000);
    expect(await posts()).toBe(before);
  }));

it("puts a foreign Ready=False right with its next comparison, and nothing before", () =>
  inKubeletWorld(async ({ createPod, simulation, patchStatus, statusesOf, timelineOf }) => {
    await createPod("web");
    await simulation.sleep(13_000);
    const before = statusesOf("web").at(-1)?.status;
    for (const flippedAt of [13, 36]) {
      await simulation.sleep(flippedAt * 1_000 - simulation.now());
      const ready = { type: "Ready", status: "False", lastTransitionTime: second(flippedAt) };
      await patchStatus("web", { conditions: [ready] });
      await simulation.sleep(12_000);
    }
    const [first, next] = timelineOf("web").flatMap((line, index, all) =>
      all[index - 1]?.endsWith("Running") === true ? [Number.parseInt(line, 10)] : [],
    );
    // Every ten seconds from the node's own start, whenever the flip comes.
    const tick = (first ?? Number.NaN) % 10;
    expect([first, next]).toEqual([tick + (tick < 3 ? 20 : 10), tick + (tick < 6 ? 40 : 30)]);
    expect(timelineOf("web").slice(-5)).toEqual([
      "0 Running ready",
      "13 Running",
      `${first} Running ready`,
      "36 Running",
      `${next} Running ready`,
    ]);
    expect(statusesOf("web").at(-1)?.status).toEqual(before);
    expect(statusesOf("web").length).toBe(7);
  }));

it("keeps conditions that others put on a pod", () =>
  inKubeletWorld(async ({ createPod, simulation, patchStatus, statusesOf, kubelet }) => {
    const uid = await createPod("web");
    await simulation.sleep(1_000);
    const foreign = { type: "example.com/gate", status: "True", lastTransitionTime: second(1) };
    await patchStatus("web", { conditions: [foreign] });
    kubelet.crash(uid);
    await simulation.sleep(30_000);
    const { status = {} } = statusesOf("web").at(-1) ?? {};
    expect(listAt(status, "conditions")).toContainEqual({ ...foreign, lastProbeTime: null });
  }));

it("writes an Event about annotations it cannot follow, and runs the pod all the same", () =>
  inKubeletWorld(async (world) => {
    const { createPod, simulation, timelineOf } = world;
    await createPod("web", { annotations: { [`${lab}on-term`]: "explode" } });
    await simulation.sleep(1_000);
    expect(await eventsOf(world, "web")).toEqual([
      'InvalidAnnotation: The annotation lab.lockstep.dev/on-term is "explode"; ' +
        "it should be exit, drain or ignore.",
    ]);
    expect(timelineOf("web").at(-1)).toBe("0 Running ready");
  }));

it("takes the next address when another process has the first", () =>
  inKubeletWorld(async ({ createPod, simulation, ask }) => {
    const other = simulation.host("somebody-else");
    await other.network.listen({ host: "10.9.0.2", port: 8080 }, (exchange) => {
      exchange.respond(200).end(Buffer.from('"somebody else"'));
    });
    const uid = await createPod("web");
    await simulation.sleep(1_000);
    expect(await ask("10.9.0.2")).toBe("somebody else");
    expect(await ask("10.9.0.3")).toMatchObject({ uid });
  }));

it("gives a pod's address to the next one at once with that setting of the lab", () =>
  inKubeletWorld(
    async ({ createPod, deletePod, simulation, ask, ledger }) => {
      const first = await createPod("first");
      await simulation.sleep(1_000);
      await deletePod("first");
      await simulation.sleep(1_000);
      const second = await createPod("second");
      await simulation.sleep(1_000);
      expect(await ask("10.9.0.2")).toMatchObject({ uid: second });
      expect(ledger.spells("10.9.0.2").map(({ podUid }) => podUid)).toEqual([first, second]);
    },
    { reuseAfterMs: 0 },
  ));

it("follows a pod's log until the pod is gone", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, open, ask }) => {
    await createPod("web");
    await simulation.sleep(1_000);
    const path = "/api/v1/namespaces/default/pods/web/log?follow=true&tailLines=1";
    const { body } = await open(path);
    await ask("10.9.0.2", "/seen");
    await deletePod("web");
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString("utf8").split("\n")).toEqual([
      "listening on 10.9.0.2, ports 8080",
      "GET /seen 200",
      "SIGTERM: finishing 0 requests",
      "exited with code 0",
      "",
    ]);
  }));

async function eventsOf({ call }: KubeletWorld, pod: string): Promise<readonly string[]> {
  const selector = encodeURIComponent(`involvedObject.name=${pod}`);
  const { json } = await call("GET", `/api/v1/namespaces/default/events?fieldSelector=${selector}`);
  return listAt(isRecord(json) ? json : {}, "items")
    .filter(isRecord)
    .map((event) => `${event["reason"]}: ${event["message"]}`);
}
