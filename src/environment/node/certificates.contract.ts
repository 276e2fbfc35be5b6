// Certificates for tests that need real TLS: an authority, and what it signs. Valid for an hour.
import { webcrypto } from "node:crypto";
import type * as x509Types from "@peculiar/x509";

// x509 finds its parts through tsyringe, which refuses to load without the decorator metadata API,
// though nothing here has metadata. So the API is there, and empty.
if (!("getMetadata" in Reflect)) {
  const none = (): undefined => undefined;
  Object.assign(Reflect, { getMetadata: none, getOwnMetadata: none, defineMetadata: none });
}
const x509 = await import("@peculiar/x509");

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  /** PEM of the authority itself. */
  readonly ca: string;
  /** A server's certificate for these addresses and names. */
  issueServer(names: readonly string[]): Promise<KeyPair>;
  /** A client's certificate; the name is the user Kubernetes sees. */
  issueClient(name: string): Promise<KeyPair>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const lifeMs = 3_600_000;

export async function makeAuthority(name: string): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const issue = async (subject: string, extensions: x509Types.Extension[]): Promise<KeyPair> => {
    const own = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const signed = await x509.X509CertificateGenerator.create({
      ...validity(),
      subject,
      issuer: root.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions,
    });
    const key = await webcrypto.subtle.exportKey("pkcs8", own.privateKey);
    return { cert: signed.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
  };
  return {
    ca: root.toString("pem"),
    issueServer: (names) => issue(`CN=${names[0]}`, [alternativeNames(names)]),
    issueClient: (name) => issue(`CN=${name}`, []),
  };
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - lifeMs), notAfter: new Date(now + lifeMs) };
}

function alternativeNames(names: readonly string[]): x509Types.Extension {
  return new x509.SubjectAlternativeNameExtension(
    names.map((value) => ({ type: /^[\d.]+$/.test(value) ? "ip" : "dns", value })),
  );
}
