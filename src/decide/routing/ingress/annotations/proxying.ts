// How a request is passed on: how long and how often it is tried, over which protocol, and how big
// it may be.
import type { RoutePolicy } from "../../../route-policy.ts";
import { plain } from "../../shown-text.ts";
import {
  type AnnotationGroup,
  onlyMoreRoom,
  present,
  seenInProblems,
} from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import {
  absolutePath,
  duration,
  hostAndPort,
  hostName,
  itemsOf,
  oneOf,
  size,
  wholeNumber,
} from "../annotation-values.ts";

const maxBodyBytes = 2 ** 40;

/** nginx itself gives up a connection attempt after 75 s at the latest. */
const maxConnectMs = 75_000;

/** A stream that is silent for a week will not speak again. */
const maxSilenceMs = 7 * 86_400_000;

/** More would only multiply the load of a service that is in trouble. */
const maxTries = 10;

export const bodySize: AnnotationGroup = {
  names: ["proxy-body-size"],
  // Only the default differs: src/migrate/controller-settings.ts.
  differences: { "proxy-body-size": onlyMoreRoom },
  read: (annotations) => ({
    policy: present({ maxBodyBytes: annotations.read("proxy-body-size", size(maxBodyBytes)) }),
  }),
};

/** nginx's default for headers, and the maximum of its special location (special.conf). */
const usualHeaderBytes = 16 * 2 ** 10;
const maxHeaderBytes = 128 * 2 ** 10;

/** Settings that need a location of their own in nginx, which only endpoints of plain HTTP have. */
const specials = {
  largeHeaders: "proxy-buffer-size",
  forwardedPrefix: "x-forwarded-prefix",
  streamBodies: "proxy-request-buffering",
} as const;

export const special: AnnotationGroup = {
  names: Object.values(specials),
  differences: {
    "proxy-buffer-size": onlyMoreRoom,
    "proxy-request-buffering": ({ value }) =>
      value.trim().toLowerCase() === "off"
        ? "a body without a length is buffered; ingress-nginx passes it on as it comes"
        : undefined,
    "x-forwarded-prefix": ({ has }) =>
      has("rewrite-target")
        ? undefined
        : "endpoints get the header; ingress-nginx sends it only with rewrite-target",
  },
  read: (annotations) => {
    const buffering = oneOf({ on: false, off: true });
    const isStreamed = annotations.read("proxy-request-buffering", buffering);
    const bytes = annotations.read("proxy-buffer-size", size(maxBodyBytes)) ?? 0;
    const forwardedPrefix = annotations.read("x-forwarded-prefix", absolutePath);
    const largeHeaders = bytes > usualHeaderBytes ? (true as const) : undefined;
    if (bytes > maxHeaderBytes) {
      annotations.report(
        "proxy-buffer-size",
        "the maximum for response headers is 128 KiB, so 128 KiB is used",
      );
    }
    const streamBodies = isStreamed === true ? (true as const) : undefined;
    const policy = present({ largeHeaders, forwardedPrefix, streamBodies });
    return isOfOtherClass(annotations, policy) ? {} : { policy };
  },
};

/** Of gRPC and of endpoints that must prove their name: their locations have settings of their own. */
function isOfOtherClass(annotations: AnnotationReader, policy: RoutePolicy): boolean {
  const spoken = annotations.text("backend-protocol").trim().toLowerCase();
  const mustProve = annotations.text("proxy-ssl-verify").trim().toLowerCase() === "on";
  if (!spoken.startsWith("grpc") && !(spoken === "https" && mustProve)) return false;
  for (const [field, name] of Object.entries(specials)) {
    // Bodies of gRPC are always passed on as they come.
    const isHad = field === "streamBodies" && spoken.startsWith("grpc");
    if (isHad || !Object.hasOwn(policy, field)) continue;
    const others =
      "not supported for gRPC endpoints and for endpoints with certificate verification";
    annotations.report(name, `${others}, so it is ignored`);
  }
  return true;
}

export const timeouts: AnnotationGroup = {
  names: ["proxy-connect-timeout", "proxy-send-timeout", "proxy-read-timeout"],
  // More values are allowed, such as 500ms.
  differences: {
    "proxy-connect-timeout": onlyMoreRoom,
    "proxy-send-timeout": onlyMoreRoom,
    "proxy-read-timeout": onlyMoreRoom,
  },
  read: (annotations) => {
    const found = present({
      connectMs: annotations.read("proxy-connect-timeout", duration(1, maxConnectMs)),
      sendMs: annotations.read("proxy-send-timeout", duration(1, maxSilenceMs)),
      readMs: annotations.read("proxy-read-timeout", duration(1, maxSilenceMs)),
    });
    return { policy: Object.keys(found).length === 0 ? {} : { timeouts: found } };
  },
};

export const retries: AnnotationGroup = {
  names: ["proxy-next-upstream", "proxy-next-upstream-tries"],
  differences: {
    "proxy-next-upstream": ({ value }) =>
      itemsOf(value, /\s+/).includes("off") || conditionsIn(value).size === conditions.size
        ? undefined
        : "connection errors and timeouts are always retried",
    "proxy-next-upstream-tries": ({ value }) =>
      value === "0"
        ? `at most ${maxTries} endpoints are tried; no limit in ingress-nginx`
        : undefined,
  },
  read: (annotations) => ({ policy: present({ tries: triesOf(annotations) }) }),
};

/** When another endpoint is tried is fixed; only whether and how often can be asked for. */
const conditions: ReadonlySet<string> = new Set(["error", "timeout"]);

function conditionsIn(text: string): ReadonlySet<string> {
  return new Set(itemsOf(text, /\s+/).filter((one) => conditions.has(one)));
}

function triesOf(annotations: AnnotationReader): number | undefined {
  const asked = itemsOf(annotations.text("proxy-next-upstream"), /\s+/);
  const others = asked.filter((one) => one !== "off" && !conditions.has(one));
  if (others.length > 0) {
    annotations.report(
      "proxy-next-upstream",
      "retries happen only after connection errors, and after timeouts of idempotent requests; " +
        `not supported: ${others.slice(0, conditionsShown).map(plain).join(", ")}`,
    );
  }
  // 0 is nginx's word for no limit of its own.
  const tries = annotations.read("proxy-next-upstream-tries", wholeNumber(0, maxTries));
  if (asked.includes("off")) return 1;
  return tries === 0 ? maxTries : tries;
}

const conditionsShown = 5;

export const protocol: AnnotationGroup = {
  names: ["backend-protocol", "upstream-vhost", "proxy-ssl-verify", "proxy-ssl-name"],
  differences: {
    "backend-protocol": ({ value }) =>
      value.trim().toLowerCase().startsWith("grpc")
        ? "gRPC clients without TLS use --grpc-port; in ingress-nginx the HTTP port"
        : undefined,
    "upstream-vhost": seenInProblems,
    "proxy-ssl-verify": ({ value }) =>
      value.trim().toLowerCase() === "on"
        ? "certificates are verified against --upstream-ca, not against proxy-ssl-secret"
        : undefined,
    "proxy-ssl-name": ({ has }) =>
      has("proxy-ssl-secret")
        ? undefined
        : "the name is used; ingress-nginx uses it only with proxy-ssl-secret",
  },
  read: (annotations) => ({
    policy: present({
      protocol: annotations.read("backend-protocol", oneOf(protocols), "so HTTP is used"),
      upstreamHost: annotations.read("upstream-vhost", hostAndPort),
      verifyUpstream: annotations.read("proxy-ssl-verify", oneOf({ on: true, off: false })),
      upstreamTlsName: annotations.read("proxy-ssl-name", hostName),
    }),
  }),
};

const protocols: Readonly<Record<string, NonNullable<RoutePolicy["protocol"]>>> = {
  http: "http",
  https: "https",
  grpc: "grpc",
  grpcs: "grpcs",
};
