// A whole cluster in virtual time whose first node falls silent, dies or is deleted: what the
// controllers of each version make of it, as the API server shows it.
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import { isThorough } from "../../../simulation/seeds.ts";
import { type Simulation, simulate } from "../../../simulation/simulation.ts";
import { type Cluster, startCluster } from "../../cluster.ts";
import { createService } from "../../incidents/heartbeat-flap/late-nodes.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import type { ProfileName } from "../../versions/profiles.ts";

interface World {
  readonly simulation: Simulation;
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly list: (path: string) => Promise<readonly RawRecord[]>;
  readonly node: () => Promise<RawRecord>;
  readonly podsOnNode: () => Promise<readonly RawRecord[]>;
  readonly remove: (path: string) => Promise<void>;
  /** Lines of the controller manager's log that contain this, without their times. */
  readonly logged: (text: string) => Promise<readonly string[]>;
}

const silentNode = "blue-node-1";

const versions = isThorough(process.env)
  ? (["1.7", "1.9", "1.17.3"] as const)
  : (["1.17.3"] as const);

/** Three nodes with a pod each; the first has just reported. */
function inCluster(profile: ProfileName, run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const user = simulation.host("user");
    const ledger = new Ledger(user);
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      nodes: 3,
      profile,
      flags: { v: 2 },
      podNetwork: "10.7",
      ledger,
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    const get = async (path: string): Promise<RawRecord> =>
      objectRecord(parseJson(await client.request({ verb: "get", method: "GET", path })));
    const list = async (path: string) => listAt(await get(path), "items").filter(isRecord);
    await createService(client, 3);
    await simulation.sleep(5_000);
    const log = "/api/v1/namespaces/kube-system/pods/kube-controller-manager-control-plane/log";
    await run({
      simulation,
      cluster,
      ledger,
      list,
      node: () => get(`/api/v1/nodes/${silentNode}`),
      podsOnNode: () => list(`/api/v1/pods?fieldSelector=spec.nodeName=${silentNode}`),
      remove: async (path) =>
        void (await client.request({ verb: "delete", method: "DELETE", path })),
      logged: async (text) => {
        const { body } = await client.request({ verb: "get", method: "GET", path: log });
        const lines = body
          .toString("utf8")
          .split("\n")
          .filter((line) => line.includes(text));
        return lines.map((line) => line.slice(line.indexOf(" 1 ") + 3));
      },
    });
    await cluster.stop();
  });
}

function conditions(object: RawRecord | undefined): Readonly<Record<string, unknown>> {
  const all = listAt(recordAt(object ?? {}, "status"), "conditions").filter(isRecord);
  return Object.fromEntries(all.map(({ type, status }) => [String(type), status]));
}

function taints(node: RawRecord): readonly unknown[] {
  const all = listAt(recordAt(node, "spec"), "taints").filter(isRecord);
  return all.map(({ key, effect }) => `${String(key)}:${String(effect)}`);
}

const pressuresUnknown = {
  MemoryPressure: "Unknown",
  DiskPressure: "Unknown",
  PIDPressure: "Unknown",
  Ready: "Unknown",
};

describe("a node that falls silent while its pods run", () => {
  test("is Unknown, tainted, and its pods unready with ready containers", () =>
    inCluster("1.33", async (world) => {
      const { simulation, cluster, node, podsOnNode } = world;
      cluster.kubelets[0]?.pauseHeartbeat();
      await simulation.sleep(44_000);
      expect(conditions(await node())["Ready"]).toBe("True");
      await simulation.sleep(12_000);
      expect(conditions(await node())).toEqual(pressuresUnknown);
      expect(taints(await node())).toEqual([
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.kubernetes.io/unreachable:NoExecute",
      ]);
      const statusChange = 'blue-node-1"';
      expect(await world.logged("Recording status change")).toEqual([
        'controller_utils.go:186] "Recording status change event message for node" ' +
          `logger="node-lifecycle-controller" status="NodeNotReady" node="${statusChange}`,
      ]);
      const events = await world.list("/api/v1/events?fieldSelector=reason=NodeNotReady");
      expect(events.map(({ message, count }) => [message, count])).toEqual([
        ["Node blue-node-1 status is now: NodeNotReady", 1],
        ["Node is not ready", 1],
      ]);
      await simulation.sleep(10_000);
      // The kubelet has put the pods right, and they are not marked again.
      const [pod] = await podsOnNode();
      expect(conditions(pod)["Ready"]).toBe("True");
      await simulation.sleep(60_000);
      expect((await world.logged("Updating ready status of pod")).length).toBe(1);
      cluster.kubelets[0]?.resumeHeartbeat();
      await simulation.sleep(16_000);
      expect(conditions(await node())["Ready"]).toBe("True");
      expect(taints(await node())).toEqual([]);
    }));

  test.each(versions)("%s gives it up after 40 s", (profile) =>
    inCluster(profile, async ({ simulation, cluster, node, podsOnNode, logged }) => {
      expect((await logged("Missing timestamp")).length).toBe(4);
      expect((await logged("Initializing eviction metric for zone: ")).length).toBe(1);
      cluster.kubelets[0]?.pauseHeartbeat();
      await simulation.sleep(34_000);
      const [before] = await podsOnNode();
      expect(conditions(await node())["Ready"]).toBe("True");
      for (let tries = 0; tries < 120; tries += 1) {
        if (conditions((await podsOnNode())[0])["Ready"] === "False") break;
        await simulation.sleep(100);
      }
      const [pod] = await podsOnNode();
      const [container] = listAt(recordAt(pod ?? {}, "status"), "containerStatuses").filter(
        isRecord,
      );
      expect([conditions(pod)["Ready"], container?.["ready"]]).toEqual(["False", true]);
      const since = (one: RawRecord | undefined) =>
        listAt(recordAt(one ?? {}, "status"), "conditions")
          .filter(isRecord)
          .find(({ type }) => type === "Ready")?.["lastTransitionTime"];
      expect(since(pod) === since(before)).toBe(profile !== "1.17.3");
      // Taints are put on by 1.17, at the next look.
      await simulation.sleep(6_000);
      expect(taints(await node()).length).toBe(profile === "1.17.3" ? 2 : 0);
      expect((await logged("hasn't been updated")).length).toBe(profile === "1.17.3" ? 8 : 0);
      expect(await logged("Recording status change")).toEqual([
        `${recordingSource[profile]}] Recording status change NodeNotReady event message for node ` +
          "blue-node-1",
      ]);
      const uid = String(recordAt(await node(), "metadata")["uid"]);
      expect(await logged("reason: 'NodeNotReady'")).toEqual([
        `event.go:${profile === "1.17.3" ? 281 : 218}] Event(v1.ObjectReference{Kind:"Node", ` +
          `Namespace:"", Name:"blue-node-1", UID:"${uid}", APIVersion:"", ResourceVersion:"", ` +
          `FieldPath:""}): type: 'Normal' reason: 'NodeNotReady' ` +
          "Node blue-node-1 status is now: NodeNotReady",
      ]);
    }),
  );
});

const recordingSource = {
  "1.7": "controller_utils.go:285",
  "1.9": "controller_utils.go:209",
  "1.17.3": "controller_utils.go:179",
};

describe.runIf(isThorough(process.env))("a node that dies", () => {
  /** Tolerated for 300 s, or the eviction timeout from the last heartbeat on. */
  test.each([
    ["1.33", 50, 300 + 55],
    ["1.17.3", 40, 300 + 50],
    ["1.7", 40, 300 + 10],
  ] as const)("loses its pods, which stay until the node is deleted: %s", (profile, early, late) =>
    inCluster(profile, async (world) => {
      const { simulation, cluster, podsOnNode, list } = world;
      await cluster.kubelets[0]?.powerOff();
      await simulation.sleep((early + 245) * 1_000);
      expect((await podsOnNode()).map(isDeleted)).toEqual([false]);
      await simulation.sleep((late - early - 245 + 10) * 1_000);
      expect((await podsOnNode()).map(isDeleted)).toEqual([true]);
      // Another pod runs elsewhere by now, and no kubelet is left to end this one.
      expect((await list("/api/v1/namespaces/default/pods")).length).toBe(4);
      await simulation.sleep(120_000);
      expect((await podsOnNode()).length).toBe(1);
      await world.remove(`/api/v1/nodes/${silentNode}`);
      await simulation.sleep(19_000);
      expect((await podsOnNode()).length).toBe(profile === "1.7" ? 0 : 1);
      await simulation.sleep(62_000);
      expect(await podsOnNode()).toEqual([]);
    }),
  );
});

describe("a machine that is expelled", () => {
  test("continues to run its pods, although no cluster has them, and its requests fail", () =>
    inCluster("1.33", async (world) => {
      const { simulation, cluster, ledger, podsOnNode } = world;
      const [pod] = await podsOnNode();
      const address = String(recordAt(pod ?? {}, "status")["podIP"]);
      await cluster.removeFromCluster(silentNode);
      await simulation.sleep(100_000);
      expect(await podsOnNode()).toEqual([]);
      const nodes = await world.list("/api/v1/nodes");
      expect(nodes.map(({ metadata }) => recordAt({ metadata }, "metadata")["name"])).toEqual([
        "blue-node-2",
        "blue-node-3",
        "control-plane",
      ]);
      const { clock } = simulation.host("user");
      expect(ledger.aliveAt(address, clock.monotonicMs())).toBe(true);
    }));
});

function isDeleted({ metadata }: RawRecord): boolean {
  return recordAt({ metadata }, "metadata")["deletionTimestamp"] !== undefined;
}
