// One side of the comparison: three ingress replicas and an entry that stands for the load balancer. The
// sides are `stock`, the labelled model of ingress-nginx, and `lockstep`.
import type { Environment } from "../../environment/environment.ts";
import { shopPort, shopService } from "../shop.ts";
import { Entry } from "../traffic/entry.ts";

export type SideName = "stock" | "lockstep";

export interface SideReplica {
  /** `host:port` of its proxy. */
  readonly address: string;
  /** Why it does not serve, where that is known; undefined while it does. */
  readonly problem?: () => string | undefined;
  /** Names the run of its proxy: another one after each start. Undefined while none runs. */
  readonly proxyRun?: () => string | undefined;
  /** Where it answers questions about its decisions; a stock replica has no such address. */
  readonly statusUrl?: string;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface Side<Replica extends SideReplica = SideReplica> {
  readonly name: SideName;
  readonly entry: Entry;
  /** By name, in the order in which they were started. */
  readonly replicas: ReadonlyMap<string, Replica>;
  /** Stops the entry first, then the replicas. Idempotent. */
  stop(): Promise<void>;
}

export interface SideOptions<Replica extends SideReplica>
  extends Pick<Environment, "clock" | "network"> {
  /** Where the entry listens; 0 takes any free port. */
  readonly host: string;
  readonly port: number;
  /** Called with `stock-1`, `stock-2`, `stock-3`. */
  readonly startReplica: (name: string) => Promise<Replica>;
}

/** As many as the write-ups had, and enough to see them differ. */
export const replicas = 3;

/** The port of the shop's service, as decisions and as ingress-nginx name it. */
export const decisionKey = `${shopService}:${shopPort}`;
export const stockBackend = `${shopService.replace("/", "-")}-${shopPort}`;

/** On a stage each is also the name of the replica's machine. */
export function replicaNames(side: SideName): readonly string[] {
  return Array.from({ length: replicas }, (_, index) => `${side}-${index + 1}`);
}

/** Resolves when all replicas and the entry serve. A start that fails leaves nothing behind. */
export async function startSide<Replica extends SideReplica>(
  name: SideName,
  { startReplica, ...listen }: SideOptions<Replica>,
): Promise<Side<Replica>> {
  const started = new Map<string, Replica>();
  const stopReplicas = async (): Promise<void> => {
    await Promise.all([...started.values()].map((replica) => replica.stop()));
  };
  try {
    for (const replica of replicaNames(name)) started.set(replica, await startReplica(replica));
    const targets = [...started].map(([replica, { address }]) => ({ name: replica, address }));
    const entry = new Entry({ ...listen, replicas: targets });
    await entry.start();
    const stop = async (): Promise<void> => {
      await entry.stop();
      await stopReplicas();
    };
    return { name, entry, replicas: started, stop };
  } catch (error) {
    await stopReplicas();
    throw error;
  }
}
