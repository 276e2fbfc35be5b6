// Whether what a secret holds can be shown to clients: that chain and key are there, can be read and
// belong together. Pure; the answer for a version of a secret is found once, because reading a key
// takes half a millisecond and routes are decided often.
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Secret } from "../kube/kinds/secret.ts";

export interface CheckedCertificate {
  /** PEM, nothing but what was read: the server's own certificate first, and its key. */
  readonly certificate: { readonly chain: string; readonly key: string };
  /** Lower case; with `*.` for any one label. */
  readonly names: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly notAfterMs: number;
}

/** Longer than any real chain; one entry must fit into one push. */
const maxChainBytes = 128 * 1024;
const maxKeyBytes = 32 * 1024;
/** Reading one takes up to a millisecond, and nothing else is done meanwhile; real chains have four. */
const maxChainCertificates = 10;

/** A larger one keeps nginx busy for a tenth of a second or more with every client, and all others. */
const maxRsaBits = 8_192;

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const keyBlock = /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[^-]+-----END ([A-Z]+ )?PRIVATE KEY-----/;

const known = new WeakMap<Secret, CheckedCertificate | string>();

/** The certificate, or what is wrong with it, as the end of a sentence about the secret. */
export function checkedCertificate(secret: Secret): CheckedCertificate | string {
  const found = known.get(secret) ?? check(secret);
  known.set(secret, found);
  return found;
}

/** `*.name` is covered by a certificate for `*.name` alone. */
export function coversName({ names }: CheckedCertificate, name: string): boolean {
  return names.has(name) || names.has(`*${name.slice(name.indexOf("."))}`);
}

function check({ chain, key }: Secret): CheckedCertificate | string {
  if (chain === "") return "has no tls.crt";
  if (key === "") return "has no tls.key";
  if (chain.length > maxChainBytes) return `has a tls.crt of more than ${maxChainBytes} bytes`;
  if (key.length > maxKeyBytes) return `has a tls.key of more than ${maxKeyBytes} bytes`;
  const certificates = readChain(chain);
  if (typeof certificates === "string") return certificates;
  const [leaf] = certificates;
  if (leaf === undefined) return "contains no PEM certificate in tls.crt";
  const privateKey = readKey(key);
  if (typeof privateKey === "string") return privateKey;
  const { modulusLength = 0 } = privateKey.asymmetricKeyDetails ?? {};
  if (modulusLength > maxRsaBits) {
    return `has a tls.key of ${modulusLength} bits; the maximum is ${maxRsaBits}`;
  }
  if (!leaf.checkPrivateKey(privateKey)) {
    return "has a tls.key that does not match the first certificate in tls.crt";
  }
  return {
    // Only the parsed certificates are pushed, and no other text in the secret.
    certificate: {
      chain: `${certificates.map((one) => one.toString().trim()).join("\n")}\n`,
      key: `${(keyBlock.exec(key) ?? [""])[0]}\n`,
    },
    names: namesOf(leaf),
    notAfterMs: Date.parse(leaf.validTo),
  };
}

/** As clients do, by the alternative names, or the common name of a certificate that has none. */
function namesOf({ subjectAltName, subject }: X509Certificate): ReadonlySet<string> {
  // Names that could be mistaken for something else are quoted there, and are no host names.
  const [, common = ""] = /^CN=(\S+)$/m.exec(subject) ?? [];
  const alternatives = (subjectAltName ?? "").split(", ").filter((one) => one.startsWith("DNS:"));
  const names = subjectAltName === undefined ? [common] : alternatives.map((one) => one.slice(4));
  return new Set(names.map((name) => name.toLowerCase()));
}

function readChain(text: string): readonly X509Certificate[] | string {
  const certificates: X509Certificate[] = [];
  const blocks = text.match(certificateBlock) ?? [];
  if (blocks.length > maxChainCertificates) {
    return `has a tls.crt of more than ${maxChainCertificates} certificates`;
  }
  for (const pem of blocks) {
    try {
      certificates.push(new X509Certificate(pem));
    } catch {
      // The library's words would quote bytes at best; the place is what helps.
      return `has a tls.crt whose certificate ${certificates.length + 1} cannot be read`;
    }
  }
  return certificates;
}

function readKey(text: string): KeyObject | string {
  const [pem] = keyBlock.exec(text) ?? [];
  if (pem === undefined) return "holds no private key in PEM in tls.key";
  if (pem.includes("ENCRYPTED")) return "has a tls.key that is encrypted";
  try {
    return createPrivateKey(pem);
  } catch {
    // The library's words may quote the key.
    return "has a tls.key that cannot be read";
  }
}
