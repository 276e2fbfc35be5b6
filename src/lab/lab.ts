// Embedded clusters on real sockets: for each cluster one storage, one or more API servers and the
// controllers that belong to every cluster, with certificates and a token made for this run.
// Nothing outlives `stop`.
import type { webcrypto } from "node:crypto";
import type { Environment } from "../environment/environment.ts";
import type { Listener } from "../environment/network.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../kube/credentials/credentials.ts";
import { ApiServer } from "./apiserver/api-server.ts";
import { makeAuthority } from "./apiserver/certificate-authority.ts";
import { MemoryStorage } from "./apiserver/storage/memory-storage.ts";
import { runNamespaceController } from "./controllers/namespace-controller.ts";
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

/** What a Kubernetes client may verify a server by, beside the address it listens on. */
const serverNames = ["localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1", "::1"];

/** Whoever has the lab's kubeconfig may do everything in it. */
const administrator = { name: "lab-admin", groups: ["system:masters"] };

export async function startLab(options: LabOptions): Promise<Lab> {
  const { environment, crypto, host } = options;
  const { clock } = environment;
  const authority = await makeAuthority({ clock, crypto, name: "lockstep-lab" });
  const tls = await authority.issueServer([...new Set([host, ...serverNames])]);
  const started: ApiServer[] = [];
  const servers: LabServer[] = [];
  const contexts: KubeconfigContext[] = [];
  const controllers = new AbortController();
  const running: Promise<void>[] = [];
  const stop = async () => {
    controllers.abort(new Error("the lab is stopping"));
    await Promise.all(running);
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
        const url = urlOf(await server.start({ host, port, tls }));
        const ready = { cluster: `lab-${cluster}`, context: name, url };
        servers.push(ready);
        contexts.push({ name, server: url, ca: authority.ca, token });
        options.onReady?.(ready);
        if (number === 1) {
          const access = fixedAccess({ name, server: url, token, tls: { ca: authority.ca } });
          running.push(runControllers(environment, access, controllers.signal));
        }
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers, contexts, stop };
}

/** What a cluster's controller manager does in every cluster, through its first API server. */
async function runControllers(
  environment: LabOptions["environment"],
  cluster: ClusterAccess,
  signal: AbortSignal,
): Promise<void> {
  const userAgent = "kube-controller-manager/v1.33.0 (lockstep lab)";
  const client = new HttpKubeClient({ ...environment, cluster, userAgent });
  await runNamespaceController({ ...environment, client, cluster: cluster.name }, signal);
}

function urlOf({ host, port }: Listener): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
