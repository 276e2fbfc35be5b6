// The certificate that is shown when there is none for the name a client asks for. Nobody trusts it:
// it only lets the handshake end, so that the client can say what is wrong. Its key is made by chance
// and used nowhere else; a simulated nginx has no TLS and needs none.
import { webcrypto } from "node:crypto";
import type { Certificate } from "../../decide/decision.ts";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Whoever looks at it should know whose it is and that it is nobody's. */
const subject = "O=Lockstep,CN=Lockstep fallback certificate";

/** Some clients take it for granted that a certificate has one; nobody can have this name. */
const dnsName = "fallback.lockstep.invalid";

/** Nobody checks it, so it need not be renewed. */
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
