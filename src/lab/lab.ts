// Embedded clusters on real sockets, with certificates and tokens made for this run. Pods have their own
// loopback addresses, and so have API servers where a cluster has several. Nothing outlives `stop`.
import type { webcrypto } from "node:crypto";
import { makeAuthority } from "../apiserver/certificate-authority.ts";
import type { RequestObserver } from "../apiserver/http/request-record.ts";
import {
  type Cluster,
  type ClusterOptions,
  type ReachableServer,
  startCluster,
} from "./cluster.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import { freePort } from "./free-port.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";
import { Ledger } from "./kubelet/ledger.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { serverAddress, takeLoopbackNetworks } from "./loopback-networks.ts";
import { type StoredClusterOptions, startStoredCluster } from "./processes/stored-cluster.ts";
import type { ProfileName } from "./versions/profiles.ts";

export interface LabOptions {
  readonly environment: LabEnvironment;
  /** For keys; the real `crypto.webcrypto`. */
  readonly crypto: webcrypto.Crypto;
  readonly clusters: number;
  readonly apiservers: number;
  /** In each cluster. */
  readonly nodes: number;
  /** The version whose behaviour and bugs are reproduced; the newest default unless given. */
  readonly profile?: ProfileName;
  /** Of the controller managers. */
  readonly flags?: Partial<ControllerFlags>;
  /** In each cluster; one leads, the others stand by. */
  readonly controllerManagers?: number;
  /**
   * The address every server listens on. Without it, a single server of a cluster has 127.0.0.1, and
   * several have an address each, so that the `kubernetes` endpoints list them as in a real cluster.
   */
  readonly host?: string;
  /**
   * The port of the first server; 0 takes free ports. Servers that share an address have ports one
   * after the other, servers with an address of their own have the same port.
   */
  readonly firstPort: number;
  /** An etcd for the objects; then every server is a process. In memory unless given. */
  readonly store?: Pick<StoredClusterOptions, "environment" | "endpoints" | "folder" | "onNews">;
  /** Called as each server begins to listen. */
  readonly onReady?: (server: LabServer) => void;
  /** Keep a record of each request to any server that is part of this process. */
  readonly observers?: readonly RequestObserver[];
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
  /** The real events of the pods of all clusters. */
  readonly ledger: Ledger;
  /** Ends every part of every cluster. Idempotent. */
  stop(): Promise<void>;
}

/** Names in the certificate of a server, beside the address it listens on. */
export const serverNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default.svc",
  "127.0.0.1",
  "::1",
];

const defaultHost = "127.0.0.1";

export async function startLab(options: LabOptions): Promise<Lab> {
  const { environment, crypto, onReady } = options;
  const { clock } = environment;
  const authority = await makeAuthority({ clock, crypto, name: "lockstep-lab" });
  const { ca } = authority;
  const ledger = new Ledger({ clock });
  const clusters: Cluster<ReachableServer>[] = [];
  const pods = await takeLoopbackNetworks(environment, options.clusters);
  const stop = async (): Promise<void> => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
    await pods.release();
  };
  try {
    for (const [index, podNetwork] of pods.networks.entries()) {
      const { addresses, ports } = await serverSockets(options, index, podNetwork);
      const names = new Set([...addresses, ...serverNames]);
      const cluster: ClusterOptions = {
        name: `lab-${index + 1}`,
        environmentOf: () => environment,
        hostOf: () => options.host ?? defaultHost,
        ports,
        serverAddressOf: (_, number) => addresses[number] ?? defaultHost,
        tls: { ca, ...(await authority.issueServer([...names])) },
        accessControl: true,
        fieldOwners: true,
        nodes: options.nodes,
        ...(options.profile !== undefined && { profile: options.profile }),
        ...(options.controllerManagers !== undefined && {
          controllerManagers: options.controllerManagers,
        }),
        // The default of the real one.
        flags: { "leader-elect": true, ...options.flags },
        podNetwork,
        ledger,
        ...(options.observers !== undefined && { observers: options.observers }),
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

/** The addresses and ports of the servers of one cluster. */
async function serverSockets(
  { environment, host, apiservers, firstPort }: LabOptions,
  cluster: number,
  network: string,
): Promise<{ readonly addresses: readonly string[]; readonly ports: readonly number[] }> {
  const numbers = Array.from({ length: apiservers }, (_, number) => number);
  if (host !== undefined || apiservers === 1) {
    const first = firstPort + cluster * apiservers;
    return {
      addresses: numbers.map(() => host ?? defaultHost),
      ports: numbers.map((number) => (firstPort === 0 ? 0 : first + number)),
    };
  }
  // Endpoints have one port for all addresses.
  const addresses = numbers.map((number) => serverAddress(network, number));
  const port = firstPort === 0 ? await freePort(environment, serverAddress(network, 0)) : firstPort;
  return { addresses, ports: numbers.map(() => port) };
}

function labServer(server: ReachableServer & { readonly pid?: number | undefined }): LabServer {
  const { cluster, name, url, pid } = server;
  return { cluster, context: name, url, ...(pid === undefined ? {} : { pid }) };
}
