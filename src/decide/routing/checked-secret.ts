// The state of a secret, as far as known: a certificate, or its problem as text.
import type { WallMs } from "../../environment/clock.ts";
import { type CheckedCertificate, checkedCertificate } from "../../sources/checked-certificate.ts";
import type { KnownSecret } from "../../sources/secret-source.ts";

export interface CheckedSecret {
  readonly found?: CheckedCertificate;
  /** Why there is none. */
  readonly problem?: string;
  /** It is shown all the same. */
  readonly warning?: string;
}

/** An expired certificate is used: clients then report the problem, which another would hide. */
export function checkedSecret(known: KnownSecret, key: string, now: WallMs): CheckedSecret {
  switch (known.kind) {
    case "unread":
      return {};
    case "absent":
      return { problem: `secret ${key} of type kubernetes.io/tls does not exist` };
    case "refused":
      return { problem: `no permission to read secret ${key}: ${known.detail}` };
    case "present": {
      const found = checkedCertificate(known.secret);
      if (typeof found === "string") return { problem: `the secret ${key} ${found}` };
      if (found.notAfterMs > now) return { found };
      const since = new Date(found.notAfterMs).toISOString();
      return { found, warning: `the certificate of ${key} expired on ${since}` };
    }
  }
}

/** Whether both have the same result for the same version. */
export function isSameCheck(a: CheckedSecret, b: CheckedSecret): boolean {
  return a.found === b.found && a.problem === b.problem && a.warning === b.warning;
}
