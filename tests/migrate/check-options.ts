// The options of a check with Lockstep's defaults, for tests.
import type { WallMs } from "../../src/environment/clock.ts";
import type { CheckOptions } from "../../src/migrate/check.ts";

export function checkOptions(changed: Partial<CheckOptions> = {}): CheckOptions {
  return {
    classes: [],
    routing: { sslRedirect: true },
    lockstep: {
      hstsMaxAgeSeconds: undefined,
      sslRedirect: true,
      trustedProxies: [],
      proxyProtocol: false,
      hasDefaultCertificate: false,
      hasDefaultBackend: false,
      publishesAddress: false,
    },
    now: Date.UTC(2026, 0, 1) as WallMs,
    ...changed,
  };
}
