// The address of a cluster and the credentials for it. Credentials change while the program runs
// (tokens expire, certificates rotate). So they are requested before every exchange, and the
// provider caches them.
import type { ClientTls } from "../../environment/network.ts";

export interface Credentials {
  /** The `Authorization` header: `Bearer …` or `Basic …`. */
  readonly authorization: string | undefined;
  /** How to verify the server, and the client's certificate if it has one. The same object as long
   * as nothing in it changes, because connections are pooled by it. */
  readonly tls: ClientTls;
}

export interface ClusterAccess {
  /** Shown in logs and metrics: the kubeconfig's context, or `in-cluster`. */
  readonly name: string;
  /** Base URL, perhaps with a path, without a slash at the end. */
  readonly server: string;
  /** Rejects with a `CredentialsError`. */
  credentials(): Promise<Credentials>;
  /** The server refused these (401): the next call gets others if there are any. */
  invalidate(refused: Credentials): void;
}

export type CredentialsErrorCode =
  /** The kubeconfig has no such context, or the context no such cluster or user. */
  | "NOT_FOUND"
  | "UNREADABLE"
  | "MALFORMED"
  /** Something we do not do, and must not ignore: a proxy, impersonation, a legacy provider. */
  | "UNSUPPORTED"
  | "PLUGIN_FAILED";

export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
  readonly code: CredentialsErrorCode;

  constructor(code: CredentialsErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Access that never changes: the lab's clusters, and tests. */
export function fixedAccess(fields: {
  readonly name: string;
  readonly server: string;
  readonly token?: string;
  readonly tls?: ClientTls;
}): ClusterAccess {
  const credentials: Credentials = {
    authorization: fields.token === undefined ? undefined : `Bearer ${fields.token}`,
    tls: fields.tls ?? {},
  };
  return {
    name: fields.name,
    server: withoutEndSlash(fields.server),
    credentials: () => Promise.resolve(credentials),
    invalidate: () => undefined,
  };
}

export function withoutEndSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
