// A certificate authority and a server certificate for a lab API server that listens on real
// sockets. Keys need real randomness, so these are made in live mode only; a simulated server
// needs none.
import type { webcrypto } from "node:crypto";
import type { Clock } from "../../environment/clock.ts";

export interface ServerCertificates {
  /** PEM: what clients trust. */
  readonly ca: string;
  /** PEM: what the server shows. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly clock: Clock;
  /** Names and addresses beside 127.0.0.1, ::1 and localhost. */
  readonly names?: readonly string[];
  /** The real `crypto.webcrypto`, handed in because it is a source of chance. */
  readonly crypto: webcrypto.Crypto;
}

/** A lab lives for hours; a year keeps clocks that are wrong by months happy. */
const validMs = 365 * 24 * 3600 * 1000;

/** Tolerates clients whose clock is behind. */
const backdateMs = 24 * 3600 * 1000;

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The names every Kubernetes client may verify a server by. */
const standardNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "127.0.0.1",
  "::1",
];

export async function makeServerCertificates(
  options: CertificateOptions,
): Promise<ServerCertificates> {
  const { clock, crypto, names = [] } = options;
  const x509 = await loadX509();
  x509.cryptoProvider.set(crypto);
  const validity = {
    notBefore: new Date(clock.wallMs() - backdateMs),
    notAfter: new Date(clock.wallMs() + validMs),
  };
  const caKeys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const serverKeys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: "01",
    name: "CN=lockstep-lab-ca",
    keys: caKeys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
    ],
  });
  const server = await x509.X509CertificateGenerator.create({
    ...validity,
    serialNumber: "02",
    subject: "CN=kube-apiserver",
    issuer: ca.subject,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        [...new Set([...standardNames, ...names])].map((name) => ({
          type: isAddress(name) ? "ip" : "dns",
          value: name,
        })),
      ),
    ],
  });
  const key = await crypto.subtle.exportKey("pkcs8", serverKeys.privateKey);
  return {
    ca: ca.toString("pem"),
    cert: server.toString("pem"),
    key: x509.PemConverter.encode(key, "PRIVATE KEY"),
  };
}

/**
 * x509 finds its parts through tsyringe, which refuses to load without the decorator metadata API
 * though nothing uses it; so an empty one is put in its place. Loaded on demand: it costs 100 ms.
 */
async function loadX509(): Promise<typeof import("@peculiar/x509")> {
  if (!("getMetadata" in Reflect)) {
    const none = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: none, getOwnMetadata: none, defineMetadata: none });
  }
  return import("@peculiar/x509");
}

function isAddress(name: string): boolean {
  return name.includes(":") || /^\d+(\.\d+){3}$/.test(name);
}
