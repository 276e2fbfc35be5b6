// The certificate for names without one. No client trusts it: it only lets the handshake finish, so
// that the client can show the problem. Its key is random and used nowhere else; a simulated nginx
// has no TLS and needs none.
import { webcrypto } from "node:crypto";
import type { Certificate } from "../../decide/decision.ts";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The subject shows where it comes from and that it belongs to no site. */
const subject = "O=Lockstep,CN=Lockstep fallback certificate";

/** Some clients require a DNS name; no host can have this one. */
const dnsName = "fallback.lockstep.invalid";

/** It is never verified, so it need not be renewed. */
const notBefore = new Date("2020-01-01T00:00:00Z");
const notAfter = new Date("2049-12-31T00:00:00Z");

export async function makeFallbackCertificate(): Promise<Certificate> {
  // Loaded on demand: it costs 100 ms. x509 finds its parts by decorators, which need Reflect's.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: subject,
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: dnsName }]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    chain: `${certificate.toString("pem")}\n`,
    key: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`,
  };
}
