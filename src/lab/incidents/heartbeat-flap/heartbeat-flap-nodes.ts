// The quiet part of `heartbeat-flap`: nodes whose kubelets are late for hours, each with one pod of
// one service, and the operator's journal of what came of it. No traffic: what is counted here is
// how often the control plane is wrong, and for how long.
import { elapsedMs } from "../../../environment/clock.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { type ClusterOptions, startCluster } from "../../cluster.ts";
import type { HeartbeatGaps } from "../../kubelet/heartbeat-gaps.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import type { ProfileName } from "../../versions/profiles.ts";
import type { Stage } from "../stage.ts";
import { FlapJournal, outageLengths } from "./flap-journal.ts";
import { createService } from "./flap-service.ts";

export interface LateNodes {
  readonly profile: ProfileName;
  readonly gaps: HeartbeatGaps;
  readonly nodes: number;
  readonly forMs: number;
  /** `--node-monitor-grace-period` and `--node-monitor-period`. */
  readonly graceMs: number;
  readonly monitorMs: number;
  /** How often machines report that are not late; every 10 s unless given. */
  readonly timelyMs?: number;
}

export interface LateNodesFindings {
  readonly flaps: number;
  /** Of all nodes, by what the API server was told. */
  readonly heartbeats: number;
  readonly nodeHours: number;
  /** How long the endpoint of a living pod was out, shortest first. */
  readonly outagesMs: readonly number[];
  readonly missedLinesAtOnce: number | undefined;
  readonly shareOfFlipsInTime: number | undefined;
  /** On the stage's time: when the nodes became late, and which was given up when. */
  readonly beganMs: number;
  readonly flips: readonly { readonly node: string; readonly atMs: number }[];
}

/** Of the kubelet: what a timely one does. */
const defaultTimelyMs = 10_000;

/** For all nodes to register and all pods to be published: so many heartbeats. */
const settleHeartbeats = 6;

/** The lines that count flaps are written from here on, in all versions. */
const verbosity = 2;

export async function watchLateNodes(stage: Stage, late: LateNodes): Promise<LateNodesFindings> {
  const user = stage.environmentOf("user");
  const cluster = await startCluster({
    name: "blue",
    environmentOf: (part) => stage.environmentOf(part),
    hostOf: (part) => stage.hostOf(part),
    podNetwork: stage.podNetwork,
    ports: [6443],
    nodes: late.nodes,
    ...timelyCluster(late),
    profile: late.profile,
    flags: {
      v: verbosity,
      "node-monitor-grace-period": late.graceMs,
      "node-monitor-period": late.monitorMs,
    },
    ledger: new Ledger(user),
  });
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
  const service = await createService(client, late.nodes);
  await stage.sleep(settleHeartbeats * timelyMsOf(late));
  const journal = new FlapJournal({ ...user, client, cluster: cluster.name, service });
  await journal.start();
  for (const kubelet of cluster.kubelets) kubelet.setHeartbeatGaps(late.gaps);
  const began = user.clock.monotonicMs();
  const beganMs = stage.now();
  await stage.sleep(late.forMs);
  await journal.stop();
  await cluster.stop();
  const names = cluster.kubelets.map(({ node }) => node);
  const flips = journal.flips.filter(({ node }) => names.includes(node));
  return {
    flaps: flips.length,
    heartbeats: journal.heartbeats(names),
    nodeHours: (late.nodes * late.forMs) / 3_600_000,
    outagesMs: outageLengths(journal.outages),
    missedLinesAtOnce: journal.missedLinesAtOnce,
    shareOfFlipsInTime: journal.shareOfFlipsInTime,
    beganMs,
    flips: flips.map(({ node, at }) => ({ node, atMs: beganMs + elapsedMs(began, at) })),
  };
}

/** The machines of a cluster before any of them is late. */
export function timelyCluster(
  late: Pick<LateNodes, "timelyMs">,
): Pick<ClusterOptions, "heartbeatGaps"> {
  const { timelyMs } = late;
  if (timelyMs === undefined) return {};
  const gap = { minMs: timelyMs, maxMs: timelyMs };
  return { heartbeatGaps: { status: gap, lease: gap } };
}

export function timelyMsOf({ timelyMs = defaultTimelyMs }: Pick<LateNodes, "timelyMs">): number {
  return timelyMs;
}
