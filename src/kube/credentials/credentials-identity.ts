// The client's identity from one of the places a kubeconfig can name. Together with the server's
// verification it makes a `ClusterAccess`.
import type { ClientTls } from "../../environment/network.ts";
import { type ClusterAccess, type Credentials, withoutEndSlash } from "./credentials.ts";
import type { TextSource } from "./credentials-text.ts";

export interface Identity {
  readonly authorization?: string;
  /** PEM client certificate and key. */
  readonly cert?: string;
  readonly key?: string;
}

export interface IdentitySource {
  current(): Promise<Identity>;
  /** The server refused this one. */
  invalidate(refused: Identity): void;
}

/** A token, a certificate, or both, in the configuration itself or in files it names. */
export function storedIdentity(parts: {
  readonly token?: TextSource | undefined;
  readonly basic?: string | undefined;
  readonly cert?: TextSource | undefined;
  readonly key?: TextSource | undefined;
}): IdentitySource {
  const { token, basic, cert, key } = parts;
  return {
    current: async () => ({
      ...(token === undefined ? {} : { authorization: `Bearer ${await token.read()}` }),
      ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
      ...(cert === undefined ? {} : { cert: await cert.read() }),
      ...(key === undefined ? {} : { key: await key.read() }),
    }),
    invalidate: () => {
      for (const part of [token, cert, key]) part?.invalidate();
    },
  };
}

export interface AssembledAccessOptions {
  readonly name: string;
  readonly server: string;
  readonly ca: TextSource | undefined;
  readonly serverName: string | undefined;
  readonly insecureSkipVerify: boolean;
  readonly identity: IdentitySource;
}

/** Invariant: `#last` holds what was given out last, so that an unchanged `tls` is the same object. */
export class AssembledAccess implements ClusterAccess {
  readonly name: string;
  readonly server: string;
  readonly #options: AssembledAccessOptions;
  #last: Credentials | undefined;

  constructor(options: AssembledAccessOptions) {
    this.name = options.name;
    this.server = withoutEndSlash(options.server);
    this.#options = options;
  }

  async credentials(): Promise<Credentials> {
    const { ca, identity } = this.#options;
    const { authorization, cert, key } = await identity.current();
    const fresh = this.#tls(await ca?.read(), cert, key);
    const last = this.#last?.tls;
    const tls = last !== undefined && sameTls(last, fresh) ? last : fresh;
    this.#last = { authorization, tls };
    return this.#last;
  }

  invalidate({ authorization, tls }: Credentials): void {
    this.#options.ca?.invalidate();
    this.#options.identity.invalidate({
      ...(authorization === undefined ? {} : { authorization }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    });
  }

  #tls(ca: string | undefined, cert: string | undefined, key: string | undefined): ClientTls {
    const { serverName, insecureSkipVerify } = this.#options;
    return {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(serverName === undefined ? {} : { serverName }),
      ...(insecureSkipVerify ? { insecureSkipVerify } : {}),
    };
  }
}

/** Server name and verification are fixed for one access; only the texts can change. */
function sameTls(one: ClientTls, other: ClientTls): boolean {
  return one.ca === other.ca && one.cert === other.cert && one.key === other.key;
}
