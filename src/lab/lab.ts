// Embedded clusters on real sockets: for each cluster one storage and one or more API servers, with
// certificates and a token made for this run. Nothing outlives `stop`.
import type { webcrypto } from "node:crypto";
import type { Environment } from "../environment/environment.ts";
import type { Listener } from "../environment/network.ts";
import { ApiServer } from "./apiserver/api-server.ts";
import { makeServerCertificates, type ServerCertificates } from "./apiserver/certificates.ts";
import { MemoryStorage } from "./apiserver/storage/memory-storage.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";

export interface LabOptions {
  readonly environment: Pick<Environment, "clock" | "timers" | "random" | "network" | "log">;
  /** For keys; the real `crypto.webcrypto`. */
  readonly crypto: webcrypto.Crypto;
  readonly clusters: number;
  readonly apiservers: number;
  /** The address every server listens on. */
  readonly host: string;
  /** The first server's port, the others follow; 0 lets the system choose each. */
  readonly firstPort: number;
  /** Called as each server begins to listen. */
  readonly onReady?: (server: LabServer) => void;
}

export interface LabServer {
  readonly cluster: string;
  /** The kubeconfig context that leads here: the cluster's name for its first server. */
  readonly context: string;
  readonly url: string;
}

export interface Lab {
  readonly servers: readonly LabServer[];
  /** A context per server, ready for a kubeconfig. */
  readonly contexts: readonly KubeconfigContext[];
  /** Ends every server. Idempotent. */
  stop(): Promise<void>;
}

/** What `/version` says: the version whose behaviour the server follows, and that it is ours. */
export const labGitVersion = "v1.33.0+lockstep";

/** Whoever has the lab's kubeconfig may do everything in it. */
const administrator = { name: "lab-admin", groups: ["system:masters"] };

export async function startLab(options: LabOptions): Promise<Lab> {
  const { environment, crypto, host } = options;
  const { clock } = environment;
  const certificates = await makeServerCertificates({ clock, crypto, names: [host] });
  const started: ApiServer[] = [];
  const servers: LabServer[] = [];
  const contexts: KubeconfigContext[] = [];
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
  };
  try {
    for (let cluster = 1; cluster <= options.clusters; cluster += 1) {
      const storage = new MemoryStorage({ clock });
      const token = environment.random.uuid();
      for (let number = 1; number <= options.apiservers; number += 1) {
        const name = number === 1 ? `lab-${cluster}` : `lab-${cluster}-server-${number}`;
        const authentication = { tokens: new Map([[token, administrator]]) };
        const server = new ApiServer({
          ...environment,
          storage,
          name,
          gitVersion: labGitVersion,
          authentication,
        });
        started.push(server);
        const port = options.firstPort === 0 ? 0 : options.firstPort + servers.length;
        const url = urlOf(await listen(server, host, port, certificates));
        const ready = { cluster: `lab-${cluster}`, context: name, url };
        servers.push(ready);
        contexts.push({ name, server: url, ca: certificates.ca, token });
        options.onReady?.(ready);
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers, contexts, stop };
}

function listen(
  server: ApiServer,
  host: string,
  port: number,
  { cert, key }: ServerCertificates,
): Promise<Listener> {
  return server.start({ host, port, tls: { cert, key } });
}

function urlOf({ host, port }: Listener): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
