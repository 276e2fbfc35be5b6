// Which endpoint of a service gets a request.
import type { Balance, CookieAffinity, HashPart } from "../../../route-policy.ts";
import { shown } from "../../shown-text.ts";
import { type AnnotationGroup, present, seenInProblems } from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import {
  boolean,
  cookiePath,
  hostName,
  oneOf,
  type Parse,
  token,
  wholeNumber,
} from "../annotation-values.ts";

/** ingress-nginx's name, so that sessions survive the change from it. */
const usualCookie = "INGRESSCOOKIE";

/** Browsers keep no cookie for longer. */
const maxAgeSeconds = 400 * 86_400;

export const balancing: AnnotationGroup = {
  names: [
    "load-balance",
    "upstream-hash-by",
    "affinity",
    "affinity-mode",
    "affinity-canary-behavior",
    "session-cookie-name",
    "session-cookie-path",
    "session-cookie-domain",
    "session-cookie-samesite",
    "session-cookie-conditional-samesite-none",
    "session-cookie-max-age",
    "session-cookie-expires",
    "session-cookie-secure",
    "session-cookie-change-on-failure",
  ],
  differences: {
    affinity:
      "cookies have another form, so each session of ingress-nginx may move to another endpoint once",
    "session-cookie-expires": ({ has }) =>
      has("session-cookie-max-age") ? undefined : "the cookie has Max-Age instead of Expires",
    "upstream-hash-by": "keys are placed otherwise, so a key may move to another endpoint once",
    "affinity-canary-behavior": seenInProblems,
  },
  read: (annotations) => {
    const methods = { round_robin: "round-robin", ewma: "least-latency" } as const;
    const asked = annotations.read("load-balance", oneOf(methods), "so round_robin is used");
    const hashBy = annotations.read("upstream-hash-by", hashParts);
    const affinity = affinityOf(annotations);
    if (asked === undefined && hashBy === undefined && affinity === undefined) return {};
    const balance: Balance = {
      method: hashBy === undefined ? (asked ?? "round-robin") : "hash",
      ...present({ hashBy, affinity }),
    };
    return { policy: { balance } };
  },
};

function affinityOf(annotations: AnnotationReader): CookieAffinity | undefined {
  // Set on a canary, which need not enable sessions itself.
  annotations.read("affinity-canary-behavior", oneOf({ sticky: true }), "so sticky is used");
  const kind = annotations.read("affinity", oneOf({ cookie: "cookie" }));
  if (kind === undefined) return undefined;
  const age = wholeNumber(0, maxAgeSeconds);
  const expires = annotations.read("session-cookie-expires", age);
  const modes = { balanced: "balanced", persistent: "persistent" } as const;
  const sites = { none: "None", lax: "Lax", strict: "Strict" } as const;
  return {
    cookie:
      annotations.read("session-cookie-name", token, `so ${usualCookie} is used`) ?? usualCookie,
    mode: annotations.read("affinity-mode", oneOf(modes), "so balanced is used") ?? "balanced",
    ...present({
      path: annotations.read("session-cookie-path", cookiePath),
      domain: annotations.read("session-cookie-domain", cookieDomain),
      maxAgeSeconds: annotations.read("session-cookie-max-age", age) ?? expires,
      // As in ingress-nginx, "false" takes nothing from a session that began with TLS.
      secure: annotations.read("session-cookie-secure", boolean) || undefined,
      sameSite: annotations.read("session-cookie-samesite", oneOf(sites)),
      conditionalSameSiteNone: annotations.read(
        "session-cookie-conditional-samesite-none",
        boolean,
      ),
      changeOnFailure: annotations.read("session-cookie-change-on-failure", boolean),
    }),
  };
}

/** A leading dot is of old, and means nothing to browsers. */
const cookieDomain: Parse<string> = (text) => hostName(text.replace(/^\./, ""));

/**
 * The parts of a request that may be hashed, by nginx's name for them; other nginx variables are
 * not available.
 */
const hashVariables: ReadonlySet<string> = new Set([
  "request_uri",
  "uri",
  "host",
  "remote_addr",
  "binary_remote_addr",
  "args",
  "request_method",
  "scheme",
  "server_name",
]);

const namedVariable = /^(http|cookie|arg)_[a-z0-9_]{1,100}$/;

const maxHashParts = 8;

const hashParts: Parse<readonly HashPart[]> = (text) => {
  const parts: HashPart[] = [];
  // A variable with or without braces, or text up to the next dollar sign.
  const piece = /\$(?:\{([^}]*)\}|([A-Za-z0-9_]+))|([A-Za-z0-9_.:/ -]+)/y;
  while (piece.lastIndex < text.length) {
    const at = piece.lastIndex;
    const [found, braced, bare, literal] = piece.exec(text) ?? [];
    if (found === undefined) return { problem: `${shown(text.slice(at))} cannot be read` };
    const variable = braced ?? bare;
    if (variable === undefined) parts.push({ text: literal ?? "" });
    else if (isHashable(variable)) parts.push({ variable: hashedName(variable) });
    else return { problem: `${shown(`$${variable}`)} is not a variable that can be hashed` };
  }
  if (parts.length > maxHashParts) return { problem: `it has more than ${maxHashParts} parts` };
  if (parts.every((part) => "text" in part)) {
    return { problem: `${shown(text)} names no variable such as "$request_uri"` };
  }
  return { value: parts };
};

/** Of a client's address both forms are as good: the hash alone counts. */
function hashedName(variable: string): string {
  const name = variable.toLowerCase();
  return name === "binary_remote_addr" ? "remote_addr" : name;
}

function isHashable(variable: string): boolean {
  const name = variable.toLowerCase();
  return hashVariables.has(name) || namedVariable.test(name);
}
