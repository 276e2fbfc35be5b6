// Tokens of ServiceAccounts: signed by the cluster's key, read back by any of its servers. Signing
// and verifying are pure; what a token is bound to is looked up by the authenticator.
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { isRecord, optionalString, type RawRecord } from "../kube/kinds/fields.ts";

export const defaultIssuer = "https://kubernetes.default.svc";

/** The issuer in tokens of Secrets. */
const legacyIssuer = "kubernetes/serviceaccount";

const algorithm = "ES256";
const curve = "prime256v1";
const coordinateBytes = 32;

export interface TokenKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * Made from the secret of a cluster alone. Servers and controllers know the secret, so each makes
 * the same key and none has to send it to another.
 */
export function tokenKey(secret: string): TokenKey {
  const scalar = createHash("sha256").update(`service-account key ${secret}`).digest();
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(scalar);
  const point = ecdh.getPublicKey();
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 1 + coordinateBytes).toString("base64url"),
    y: point.subarray(1 + coordinateBytes).toString("base64url"),
    // As it was made: what the other side gives back lacks the zeros at its beginning.
    d: scalar.toString("base64url"),
  };
  const privateKey = createPrivateKey({ key: jwk, format: "jwk" });
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: "spki", format: "der" });
  return { id: createHash("sha256").update(der).digest("base64url"), privateKey, publicKey };
}

export function signToken(key: TokenKey, claims: RawRecord): string {
  const head = encoded({ alg: algorithm, kid: key.id });
  const signed = `${head}.${encoded(claims)}`;
  const options = { key: key.privateKey, dsaEncoding: "ieee-p1363" } as const;
  return `${signed}.${sign("sha256", Buffer.from(signed), options).toString("base64url")}`;
}

/** The claims of a token that this key signed; undefined for every other text. */
export function verifyToken(key: TokenKey, token: string): RawRecord | undefined {
  const [head = "", body = "", signature = "", ...more] = token.split(".");
  if (more.length > 0 || optionalString(decoded(head) ?? {}, "alg") !== algorithm) return undefined;
  const options = { key: key.publicKey, dsaEncoding: "ieee-p1363" } as const;
  const bytes = Buffer.from(signature, "base64url");
  if (!verify("sha256", Buffer.from(`${head}.${body}`), options, bytes)) return undefined;
  return decoded(body);
}

/** The token of a Secret, good for as long as the Secret and its account are. */
export function legacyClaims(account: {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly secret: string;
}): RawRecord {
  const { namespace, name, uid, secret } = account;
  return {
    iss: legacyIssuer,
    "kubernetes.io/serviceaccount/namespace": namespace,
    "kubernetes.io/serviceaccount/secret.name": secret,
    "kubernetes.io/serviceaccount/service-account.name": name,
    "kubernetes.io/serviceaccount/service-account.uid": uid,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

export function isLegacy(claims: RawRecord): boolean {
  return claims["iss"] === legacyIssuer;
}

/** The document at `/.well-known/openid-configuration`. */
export function discoveryDocument(issuer: string, server: string): object {
  return {
    issuer,
    jwks_uri: `${server}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [algorithm],
  };
}

/** The answer of `/openid/v1/jwks`: any client can verify a token with it. */
export function keySet({ id, publicKey }: TokenKey): object {
  const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
  return { keys: [{ use: "sig", kty, kid: id, crv, alg: algorithm, x, y }] };
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}

function decoded(part: string): RawRecord | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    // Not one of ours, whatever it is.
    return undefined;
  }
}
