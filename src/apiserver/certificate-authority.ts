// A certificate authority for servers on real sockets: kubectl and client-go send no credentials
// over plain HTTP. Keys need real randomness, so this is for live mode only; a simulated server
// needs no certificate.
import type { webcrypto } from "node:crypto";
import type { X509Certificate } from "@peculiar/x509";
import type { Clock } from "../environment/clock.ts";

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateAuthority {
  /** PEM, for the trust store of clients. */
  readonly ca: string;
  /** A server's certificate for these addresses and names. */
  issueServer(names: readonly string[]): Promise<KeyPair>;
  /** A client's certificate; the name is the user Kubernetes sees. */
  issueClient(name: string): Promise<KeyPair>;
}

export interface AuthorityOptions {
  readonly clock: Clock;
  /** The real `crypto.webcrypto`, handed in because it is a source of chance. */
  readonly crypto: webcrypto.Crypto;
  readonly name: string;
}

/** A lab lives for hours; a year keeps clocks that are wrong by months happy. */
const validMs = 365 * 24 * 3600 * 1000;

/** Tolerates clients whose clock is behind. */
const backdateMs = 24 * 3600 * 1000;

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export async function makeAuthority(options: AuthorityOptions): Promise<CertificateAuthority> {
  const { clock, crypto } = options;
  const x509 = await loadX509();
  x509.cryptoProvider.set(crypto);
  const validity = {
    notBefore: new Date(clock.wallMs() - backdateMs),
    notAfter: new Date(clock.wallMs() + validMs),
  };
  const { KeyUsageFlags, ExtendedKeyUsage } = x509;
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: `CN=${options.name}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const issue = async (
    subject: string,
    usage: string,
    extensions: X509Certificate["extensions"],
  ): Promise<KeyPair> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const signed = await x509.X509CertificateGenerator.create({
      ...validity,
      subject,
      issuer: root.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        ...extensions,
      ],
    });
    const key = await crypto.subtle.exportKey("pkcs8", own.privateKey);
    return { cert: signed.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
  };
  return {
    ca: root.toString("pem"),
    issueServer: (names) => {
      const alternatives = names.map((value) => ({ type: kindOfName(value), value }));
      const extension = new x509.SubjectAlternativeNameExtension(alternatives);
      return issue(`CN=${names[0] ?? options.name}`, ExtendedKeyUsage.serverAuth, [extension]);
    },
    issueClient: (name) => issue(`CN=${name}`, ExtendedKeyUsage.clientAuth, []),
  };
}

/** Loaded on demand: it costs 100 ms. x509 finds its parts by decorators, which need Reflect's. */
async function loadX509(): Promise<typeof import("@peculiar/x509")> {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}

function kindOfName(name: string): "ip" | "dns" {
  return name.includes(":") || /^\d+(\.\d+){3}$/.test(name) ? "ip" : "dns";
}
