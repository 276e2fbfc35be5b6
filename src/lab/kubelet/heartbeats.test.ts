// Heartbeats of all kinds of kubelets as the API server receives them: by status or by Lease, timely or
// late, and changed while they run.
import { expect, it, test } from "vitest";
import { inKubeletWorld, type KubeletWorld } from "../../../tests/kubelet/kubelet-world.ts";
import { isRecord, listAt, recordAt } from "../../kube/kinds/fields.ts";
import { checkGaps, type HeartbeatGaps } from "./heartbeat-gaps.ts";
import { type KubeletRules, todaysKubelet } from "./kubelet-rules.ts";

const before114: KubeletRules = {
  version: "v1.7.16+lockstep",
  leases: false,
  otherConditions: ["OutOfDisk", "MemoryPressure", "DiskPressure"],
  stableLabels: false,
  containersReady: false,
  postsEnd: false,
};

/** Seconds between the heartbeats within this time, by the changes at the server. */
async function gapsSeen(
  world: KubeletWorld,
  of: "status" | "lease",
  forSeconds: number,
): Promise<readonly number[]> {
  const seen: number[] = [];
  let last: unknown;
  for (let second = 0; second < forSeconds; second += 1) {
    await world.simulation.sleep(1_000);
    const told = of === "status" ? await heartbeatTime(world) : await renewTime(world);
    if (told !== last) seen.push(second);
    last = told;
  }
  return seen.slice(1).map((at, index) => at - (seen[index] ?? 0));
}

it("posts its status as its heartbeat, with the conditions of its time, before Leases were", () =>
  inKubeletWorld(
    async (world) => {
      const gaps = await gapsSeen(world, "status", 120);
      expect(gaps.length).toBe(11);
      for (const gap of gaps) expect([10, 11]).toContain(gap);
      expect((await world.call("GET", leasePath)).status).toBe(404);
      const node = (await world.call("GET", "/api/v1/nodes/node-1")).json;
      const conditions = listAt(recordAt(isRecord(node) ? node : {}, "status"), "conditions");
      expect(conditions.filter(isRecord).map(({ type, reason }) => [type, reason])).toEqual([
        ["OutOfDisk", "KubeletHasSufficientDisk"],
        ["MemoryPressure", "KubeletHasSufficientMemory"],
        ["DiskPressure", "KubeletHasNoDiskPressure"],
        ["Ready", "KubeletReady"],
      ]);
    },
    { rules: before114 },
  ));

it("is as late as asked from that moment on, and timely again when asked", () =>
  inKubeletWorld(
    async (world) => {
      await world.simulation.sleep(12_000);
      world.kubelet.setHeartbeatGaps({ status: { minMs: 20_000, maxMs: 50_000 } });
      const late = await gapsSeen(world, "status", 500);
      expect(late.length).toBeGreaterThan(9);
      for (const gap of late) {
        expect(gap).toBeGreaterThanOrEqual(19);
        expect(gap).toBeLessThanOrEqual(51);
      }
      expect(Math.max(...late) - Math.min(...late)).toBeGreaterThan(10);
      world.kubelet.setHeartbeatGaps({ status: { minMs: 3_600_000, maxMs: 3_600_000 } });
      expect(await gapsSeen(world, "status", 60)).toEqual([]);
      world.kubelet.setHeartbeatGaps({});
      expect((await gapsSeen(world, "status", 60)).length).toBeGreaterThanOrEqual(4);
    },
    { rules: before114 },
  ));

it("can be late with its status and timely with its Lease, and the other way round", () =>
  inKubeletWorld(
    async (world) => {
      await world.simulation.sleep(1_000);
      world.kubelet.setHeartbeatGaps({ lease: { minMs: 30_000, maxMs: 30_000 } });
      expect(await gapsSeen(world, "lease", 100)).toEqual([29, 30, 30]);
      world.kubelet.setHeartbeatGaps({ status: { minMs: 30_000, maxMs: 30_000 } });
      expect((await gapsSeen(world, "lease", 100)).length).toBe(9);
    },
    { rules: todaysKubelet },
  ));

test.each<HeartbeatGaps>([
  { status: { minMs: 0, maxMs: 1 } },
  { lease: { minMs: 2, maxMs: 1 } },
  { lease: { minMs: 1, maxMs: Number.POSITIVE_INFINITY } },
])("gaps that make no sense are refused: %j", (gaps) => {
  expect(() => checkGaps(gaps)).toThrow(RangeError);
});

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";

async function renewTime({ call }: KubeletWorld): Promise<unknown> {
  const { json } = await call("GET", leasePath);
  return isRecord(json) ? recordAt(json, "spec")["renewTime"] : undefined;
}

async function heartbeatTime({ call }: KubeletWorld): Promise<unknown> {
  const { json } = await call("GET", "/api/v1/nodes/node-1");
  if (!isRecord(json)) return undefined;
  const conditions = listAt(recordAt(json, "status"), "conditions").filter(isRecord);
  return conditions.find(({ type }) => type === "Ready")?.["lastHeartbeatTime"];
}
