// Which secrets Ingresses name, and which of them come first where a namespace names too many.
import type { WantedSecrets } from "../../sources/secret-source.ts";
import { compareText } from "../compare-text.ts";
import { compareAge } from "./precedence.ts";
import type { RouteOrigin } from "./route.ts";

export interface SecretClaim {
  /** `namespace/name` of the secret. */
  readonly key: string;
  readonly origin: RouteOrigin;
}

/** A secret is as old as the oldest that names it. */
export function wantedBy(claims: Iterable<SecretClaim>): WantedSecrets {
  const oldest = new Map<string, RouteOrigin>();
  for (const { key, origin } of claims) {
    const known = oldest.get(key);
    if (known === undefined || compareAge(origin, known) < 0) oldest.set(key, origin);
  }
  const ageOf = (key: string): RouteOrigin => oldest.get(key) ?? unnamed;
  return {
    keys: new Set(oldest.keys()),
    compare: (a, b) => compareAge(ageOf(a), ageOf(b)) || compareText(a, b),
  };
}

/** A secret that a setting of Lockstep names comes before those of Ingresses. */
export function claimOfSetting(key: string): SecretClaim {
  const createdAtMs = Number.NEGATIVE_INFINITY;
  return { key, origin: { kind: "setting", namespace: "", name: "", createdAtMs } };
}

const unnamed: RouteOrigin = {
  kind: "setting",
  namespace: "",
  name: "",
  createdAtMs: Number.POSITIVE_INFINITY,
};
