// Embedded clusters on real sockets, with certificates and tokens made for this run and pods on
// loopback addresses of their own. Nothing outlives `stop`.
import type { webcrypto } from "node:crypto";
import { makeAuthority } from "../apiserver/certificate-authority.ts";
import {
  type Cluster,
  type ClusterOptions,
  type ReachableServer,
  startCluster,
} from "./cluster.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import type { ProfileName } from "./controllers/profiles.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";
import { Ledger } from "./kubelet/ledger.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { takeLoopbackNetworks } from "./loopback-networks.ts";
import { type StoredClusterOptions, startStoredCluster } from "./processes/stored-cluster.ts";

export interface LabOptions {
  readonly environment: LabEnvironment;
  /** For keys; the real `crypto.webcrypto`. */
  readonly crypto: webcrypto.Crypto;
  readonly clusters: number;
  readonly apiservers: number;
  /** In each cluster. */
  readonly nodes: number;
  /** Whose behaviour and bugs the controllers have; today's unless given. */
  readonly profile?: ProfileName;
  /** Of the controller managers. */
  readonly flags?: Partial<ControllerFlags>;
  /** In each cluster; one leads, the others stand by. */
  readonly controllerManagers?: number;
  /** The address every server listens on. */
  readonly host: string;
  /** The first server's port, the others follow; 0 lets the system choose each. */
  readonly firstPort: number;
  /** Where the objects are, and with it that the servers are processes; in memory unless given. */
  readonly store?: Pick<StoredClusterOptions, "environment" | "endpoints" | "folder" | "onNews">;
  /** Called as each server begins to listen. */
  readonly onReady?: (server: LabServer) => void;
}

export interface LabServer {
  readonly cluster: string;
  /** The kubeconfig context that leads here: the cluster's name for its first server. */
  readonly context: string;
  readonly url: string;
  /** Of a server that is a process of its own. */
  readonly pid?: number;
}

export interface Lab {
  readonly servers: readonly LabServer[];
  /** A context per server, ready for a kubeconfig. */
  readonly contexts: readonly KubeconfigContext[];
  readonly clusters: readonly Cluster<ReachableServer>[];
  /** What is really true of the pods of all clusters. */
  readonly ledger: Ledger;
  /** Ends every part of every cluster. Idempotent. */
  stop(): Promise<void>;
}

/** What a Kubernetes client may verify a server by, beside the address it listens on. */
export const serverNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default.svc",
  "127.0.0.1",
  "::1",
];

export async function startLab(options: LabOptions): Promise<Lab> {
  const { environment, crypto, host, apiservers, firstPort, onReady } = options;
  const { clock } = environment;
  const authority = await makeAuthority({ clock, crypto, name: "lockstep-lab" });
  const { ca } = authority;
  const tls = { ca, ...(await authority.issueServer([...new Set([host, ...serverNames])])) };
  const ledger = new Ledger({ clock });
  const clusters: Cluster<ReachableServer>[] = [];
  const pods = await takeLoopbackNetworks(environment, options.clusters);
  const stop = async (): Promise<void> => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
    await pods.release();
  };
  try {
    for (const [index, podNetwork] of pods.networks.entries()) {
      const cluster: ClusterOptions = {
        name: `lab-${index + 1}`,
        environmentOf: () => environment,
        hostOf: () => host,
        ports: Array.from({ length: apiservers }, (_, number) =>
          firstPort === 0 ? 0 : firstPort + index * apiservers + number,
        ),
        tls,
        accessControl: true,
        fieldOwners: true,
        nodes: options.nodes,
        ...(options.profile !== undefined && { profile: options.profile }),
        ...(options.controllerManagers !== undefined && {
          controllerManagers: options.controllerManagers,
        }),
        // As the real one does: nothing here waits for a lease that a stopped process left behind.
        flags: { "leader-elect": true, ...options.flags },
        podNetwork,
        ledger,
        onReady: (server) => onReady?.(labServer(server)),
      };
      const { store } = options;
      clusters.push(
        store === undefined
          ? await startCluster(cluster)
          : await startStoredCluster({ ...store, cluster }),
      );
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const servers = clusters.flatMap((cluster) => cluster.servers);
  return {
    servers: servers.map(labServer),
    contexts: servers.map(({ name, url, token }) => ({ name, server: url, ca, token })),
    clusters,
    ledger,
    stop,
  };
}

function labServer(server: ReachableServer & { readonly pid?: number | undefined }): LabServer {
  const { cluster, name, url, pid } = server;
  return { cluster, context: name, url, ...(pid === undefined ? {} : { pid }) };
}
