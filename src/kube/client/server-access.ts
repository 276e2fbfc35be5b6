// The credentials for the own address of one API server. A writer of the server list must not be
// able to get them. So a server must prove the same as the given address: a certificate for the
// given name or address, by the same authority. Every API server has such a certificate. Without
// verification at the given address, credentials are sent to no other address.
import type { ClientTls } from "../../environment/network.ts";
import {
  type ClusterAccess,
  type Credentials,
  CredentialsError,
} from "../credentials/credentials.ts";

export interface ServerAccessOptions {
  /** Whether servers may be reached by plain HTTP, where none can prove anything. */
  readonly plainServers?: "trusted";
}

export class ServerAccess {
  /** False where credentials would not be safe, or not be the right ones. */
  readonly mayGoDirect: boolean;
  readonly #cluster: ClusterAccess;
  readonly #protocol: string;
  readonly #hostName: string;
  /** By the given options: connections are pooled by this object, so it must stay the same. */
  readonly #tls = new WeakMap<ClientTls, ClientTls>();

  constructor(cluster: ClusterAccess, { plainServers }: ServerAccessOptions) {
    this.#cluster = cluster;
    const { protocol, hostname, pathname } = URL.canParse(cluster.server)
      ? new URL(cluster.server)
      : nowhere;
    this.#protocol = protocol;
    this.#hostName = hostname.replace(/^\[(.*)\]$/, "$1");
    const isSafe = protocol === "https:" || (protocol === "http:" && plainServers === "trusted");
    // With a path there is a gateway at the given address, which has credentials of its own.
    this.mayGoDirect = isSafe && pathname === "/";
  }

  /** The same credentials at `host:port`. */
  at(address: string): ClusterAccess {
    const cluster = this.#cluster;
    return {
      name: cluster.name,
      server: `${this.#protocol}//${address}`,
      credentials: async () => this.#forServer(await cluster.credentials()),
      invalidate: (refused) => cluster.invalidate(refused),
    };
  }

  #forServer({ authorization, tls }: Credentials): Credentials {
    if (tls.insecureSkipVerify === true) {
      const message =
        "the API server's certificate is not verified, so credentials are not sent to other servers";
      throw new CredentialsError("UNSUPPORTED", message);
    }
    const known = this.#tls.get(tls);
    const own = known ?? { ...tls, serverName: tls.serverName ?? this.#hostName };
    if (known === undefined) this.#tls.set(tls, own);
    return { authorization, tls: own };
  }
}

const nowhere = { protocol: "", hostname: "", pathname: "" };
