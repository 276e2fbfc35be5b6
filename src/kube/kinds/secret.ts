// A secret, as far as TLS needs it: the certificate chain and its private key. Everything else is
// dropped at the edge. No value is ever printed.
import { optionalString, recordAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

/** The type of secrets that hold a certificate and its key. */
export const tlsSecretType = "kubernetes.io/tls";

export interface Secret {
  readonly metadata: ObjectMeta;
  readonly type: string;
  /** `tls.crt`, PEM; empty when the secret has none. */
  readonly chain: string;
  /** `tls.key`, PEM; empty when the secret has none. */
  readonly key: string;
}

export const secretKind: Kind<Secret> = {
  group: "",
  version: "v1",
  kind: "Secret",
  resource: "secrets",
  namespaced: true,
  project: projectSecret,
};

function projectSecret(raw: unknown, similar?: Secret): Secret {
  const object = objectRecord(raw);
  const data = recordAt(object, "data");
  return {
    metadata: projectMetadata(object, secretKind, similar?.metadata),
    type: optionalString(object, "type") ?? "",
    chain: decoded(optionalString(data, "tls.crt")),
    key: decoded(optionalString(data, "tls.key")),
  };
}

function decoded(base64: string | undefined): string {
  return base64 === undefined ? "" : Buffer.from(base64, "base64").toString("utf8");
}
