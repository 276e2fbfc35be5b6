// `lockstep assist` as processes beside a lab, over real sockets: a twin follows a release while the
// Service's own slices are late, the second replica goes on when the first is killed, and without
// any replica one command gives the twin back to the lab's controllers.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import { isRecord, listAt } from "../src/kube/kinds/fields.ts";
import { ShopsWorld } from "./shops-world.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ours = "assist.lockstep.dev";
const kubernetes = "endpointslice-controller.k8s.io";

/** In milliseconds; longer than a release takes here. */
const lateMs = 15_000;

test("replicas keep a twin fresh, one after the other, and off gives it back", async () => {
  const world = await ShopsWorld.start({
    shops: 1,
    replicas: 3,
    flags: { "endpointslice-updates-batch-period": lateMs },
  });
  try {
    const first = await startAssist(world);
    await world.until("the twin is there", async () => (await listed(world, ours)).size === 3);
    const second = await startAssist(world);
    await world.roll("2");
    await world.until("the twin has the new pods", () => followsPods(world, "2"));
    // At that moment the controllers still wait.
    expect([...(await listed(world, kubernetes, "shop-1"))]).not.toEqual([
      ...(await listed(world, ours)),
    ]);
    await kill(first);
    await world.roll("3");
    await world.until("the second replica follows", () => followsPods(world, "3"));
    await kill(second);
    const off = await lockstep(world, ["assist", "off", "--all"]);
    expect(off).toEqual({
      code: 0,
      out: "default/shop-1-lockstep: Kubernetes serves it, as it serves shop-1: 3 endpoints\n",
    });
    expect((await listed(world, ours)).size).toBe(0);
    expect((await listed(world, kubernetes)).size).toBe(3);
  } finally {
    await world.stop();
  }
});

async function startAssist(world: ShopsWorld): Promise<ChildProcess> {
  const words = ["assist", "--service", "default/shop-1"];
  const child = spawn(process.execPath, await lineOf(world, words), { stdio: "ignore" });
  world.atStop(() => kill(child));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function lockstep(world: ShopsWorld, words: readonly string[]) {
  const child = spawn(process.execPath, await lineOf(world, words), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString("utf8");
  });
  const [code] = await once(child, "close");
  return { code, out };
}

async function lineOf(world: ShopsWorld, words: readonly string[]): Promise<readonly string[]> {
  return ["bin/lockstep.mjs", ...words, "--kubeconfig", await world.kubeconfigFile()];
}

/** Whether the twin lists exactly the ready pods of this release. */
async function followsPods(world: ShopsWorld, release: string): Promise<boolean> {
  const pods = (await world.pods()).filter(({ isReady, isLeaving }) => isReady && !isLeaving);
  const twin = await listed(world, ours);
  const isNew = pods.length === 3 && pods.every((pod) => pod.release === release);
  return isNew && twin.size === 3 && pods.every(({ address }) => twin.has(address));
}

/** Ready addresses in the slices of a Service, by their writer. */
async function listed(world: ShopsWorld, writer: string, service = "shop-1-lockstep") {
  const { environment, access: cluster } = world;
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
  const labels = `kubernetes.io/service-name=${service},endpointslice.kubernetes.io/managed-by=${writer}`;
  const path = `${slices}?labelSelector=${encodeURIComponent(labels)}`;
  const list = parseJson(await client.request({ verb: "list", method: "GET", path }));
  const items = isRecord(list) ? listAt(list, "items") : [];
  return new Set(
    items
      .map((raw) => endpointSliceKind.project(raw))
      .flatMap(({ endpoints }) => endpoints.filter(({ ready }) => ready !== false))
      .flatMap(({ addresses }) => addresses),
  );
}
