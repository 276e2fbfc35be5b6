// The two sides of the comparison as `lockstep up` has them: every replica with a real nginx on the
// loopback interface, each with a folder of its own.
import type { Environment } from "../../../environment/environment.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import { type EndingReplica, startKeptReplica } from "../../../lab/comparison/kept-replica.ts";
import { startWholeReplica } from "../../../lab/comparison/lockstep-replica.ts";
import { type Side, startSide } from "../../../lab/comparison/side.ts";
import { startStockReplica } from "../../../lab/comparison/stock-replica.ts";
import { LivePlane } from "../../../lab/stock/live/live-plane.ts";
import type { RoutedWitness } from "../../../observe/routed-witness.ts";

export type IngressSide = Side;

export interface SideOptions {
  readonly environment: Environment;
  readonly access: ClusterAccess;
  /** A folder of this run alone; each replica gets one inside. */
  readonly folder: string;
  readonly entryPort: number;
  readonly replica: (name: string) => RoutedWitness;
}

export const host = "127.0.0.1";

export function startLockstepSide(
  options: SideOptions & {
    readonly clusters: readonly ClusterAccess[];
    readonly followSlices: boolean;
  },
): Promise<IngressSide> {
  const { environment, access, clusters, followSlices, folder, entryPort } = options;
  return startSide("lockstep", {
    ...environment,
    host,
    port: entryPort,
    startReplica: (name) =>
      startWholeReplica({
        environment,
        access,
        clusters,
        followSlices,
        host,
        prefix: `${folder}/${name}`,
        witness: options.replica(name),
      }),
  });
}

export function startStockSide(options: SideOptions): Promise<IngressSide> {
  const { environment, entryPort } = options;
  return startSide("stock", {
    ...environment,
    host,
    port: entryPort,
    startReplica: (name) =>
      startKeptReplica({
        ...environment,
        name,
        witness: options.replica(name),
        start: (port) => startStock(options, name, port),
      }),
  });
}

async function startStock(
  { environment, access, folder, replica }: SideOptions,
  name: string,
  port: number,
): Promise<EndingReplica> {
  const plane = { made: undefined as LivePlane | undefined };
  const started = await startStockReplica({
    environment,
    access,
    published: "endpointslices",
    witness: replica(name),
    plane: (onRouted) => {
      plane.made = new LivePlane({
        ...environment,
        host,
        port,
        prefix: `${folder}/${name}`,
        onRouted,
      });
      return plane.made;
    },
  });
  if (plane.made === undefined) throw new Error("a stock replica has a proxy");
  return { ...started, ended: plane.made.ended };
}
