// External authentication: a service of a cluster, by its name there, or the service behind a host
// of these routes, decides whether a request may pass. A setting that cannot be applied closes the
// route.
import type { AuthMethod, ExternalAuth } from "../../../route-policy.ts";
import { framingHeaders } from "../../framing-headers.ts";
import type { Backend } from "../../route.ts";
import { backendKey } from "../../route.ts";
import { shown } from "../../shown-text.ts";
import { type AnnotationGroup, present, seenInProblems } from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import { boolean, isWord, list, location, oneOf, type Parse, token } from "../annotation-values.ts";

const closing = "so every request is answered with 503";

const urlName = "auth-url";
const signInName = "auth-signin";
const parameterName = "auth-signin-redirect-param";
const headersName = "auth-response-headers";
const redirectName = "auth-request-redirect";
const cookieName = "auth-always-set-cookie";

/** They change what is asked; without them more might pass than their author wants. */
const unsupported = ["auth-snippet", "auth-proxy-set-headers"] as const;

const optional = [
  "auth-method",
  signInName,
  parameterName,
  headersName,
  redirectName,
  cookieName,
  ...unsupported,
];

export const externalAuth: AnnotationGroup = {
  names: [urlName, ...optional],
  differences: {
    [headersName]: seenInProblems,
    [urlName]:
      "Lockstep calls the endpoints of the service itself; without an answer clients get 503, in " +
      "ingress-nginx 500",
    [cookieName]: ({ value }) =>
      isWord(value, true)
        ? undefined
        : "cookies of the authentication service always reach the client",
    "auth-method": ({ value }) =>
      ["GET", "HEAD", "OPTIONS"].includes(value.toUpperCase())
        ? undefined
        : "the method works only with a service of the same namespace",
  },
  read: (annotations) => {
    if (!annotations.has(urlName)) {
      for (const name of optional.filter((one) => annotations.has(one))) {
        annotations.report(name, `it needs ${urlName}, so it is ignored`);
      }
      return {};
    }
    const asked = read(annotations);
    if (asked === undefined) return { policy: { closed: true } };
    const { guard, ...policy } = asked;
    return { policy: { externalAuth: policy }, ...present({ guard }) };
  },
};

interface Place {
  readonly host: string;
  readonly path: string;
  readonly tls?: true;
  readonly guard?: Backend;
}

/** Undefined when the route is to be closed, which is reported. */
function read(annotations: AnnotationReader): (ExternalAuth & Pick<Place, "guard">) | undefined {
  const place = readOrClose(annotations, urlName, authUrl);
  const method = readOrClose(annotations, "auth-method", authMethod);
  const responseHeaders = readOrClose(annotations, headersName, list(answeredHeader));
  const refused = unsupported.filter((name) => annotations.has(name));
  for (const name of refused) {
    annotations.report(name, `not supported, ${closing}`, "RouteClosed");
  }
  const isClosed = [place, method, responseHeaders].includes(closed) || refused.length > 0;
  if (isClosed || place === undefined || place === closed) return undefined;
  annotations.read(cookieName, boolean);
  const { guard } = place;
  return {
    ...place,
    ...present({
      service: guard && backendKey(guard),
      method: method === closed ? undefined : method,
      responseHeaders: responseHeaders === closed ? undefined : responseHeaders,
      signIn: signInOf(annotations),
      requestRedirect: annotations.read(redirectName, location),
    }),
  };
}

const closed = Symbol("closed");

/** Undefined when it is absent. */
function readOrClose<Value>(
  annotations: AnnotationReader,
  name: string,
  parse: Parse<Value>,
): Value | typeof closed | undefined {
  if (!annotations.has(name)) return undefined;
  const parsed = parse(annotations.text(name));
  if ("value" in parsed) return parsed.value;
  annotations.report(name, `${parsed.problem}, ${closing}`, "RouteClosed");
  return closed;
}

/**
 * The variables of a request that may be in an address; as in proxy/lua/lockstep/external_auth.lua.
 */
const places: ReadonlySet<string> = new Set([
  "host",
  "http_host",
  "best_http_host",
  "scheme",
  "pass_access_scheme",
  "request_uri",
  "escaped_request_uri",
]);

function unknownPlace(text: string): string | undefined {
  const names = [...text.matchAll(/\$\{?([A-Za-z0-9_]+)\}?/g)].map(([, name = ""]) => name);
  return names.find((name) => !places.has(name));
}

const maxUrlLength = 1_024;

const authUrl: Parse<Place> = (text) => {
  const [, scheme, host = "", portText, written = "/"] =
    /^(https?):\/\/([A-Za-z0-9.-]+|\$(?:host|http_host|best_http_host))(?::(\d{1,5}))?([/?][\x21-\x7e]*)?$/.exec(
      text,
    ) ?? [];
  if (scheme === undefined || text.length > maxUrlLength) {
    return { problem: `${shown(text)} is not an address such as "http://auth.tools.svc/check"` };
  }
  // A query may follow the host at once.
  const path = written.startsWith("?") ? `/${written}` : written;
  const unknown = unknownPlace(path);
  if (unknown !== undefined) return { problem: `the variable $${unknown} is not supported here` };
  if (/^[\d.]+$/.test(host)) {
    return { problem: "use the name of a service or host instead of an IP address" };
  }
  const authority = portText === undefined ? host : `${host}:${portText}`;
  const guard = serviceOf(host.toLowerCase(), Number(portText ?? (scheme === "https" ? 443 : 80)));
  if (guard === undefined) return { value: { host: authority, path } };
  const tls = scheme === "https" ? { tls: true as const } : {};
  return { value: { host: authority, path, guard, ...tls } };
};

/** `name.namespace.svc`, with the domain of the cluster or without. */
function serviceOf(host: string, port: number): Backend | undefined {
  const [, name, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.|$)/.exec(host) ?? [];
  return name === undefined || namespace === undefined ? undefined : { namespace, name, port };
}

const authMethod: Parse<AuthMethod> = oneOf({
  get: "GET",
  head: "HEAD",
  post: "POST",
  put: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  options: "OPTIONS",
} as const);

const answeredHeader: Parse<string> = (text) =>
  framingHeaders.has(text.toLowerCase())
    ? { problem: `${shown(text)} is not a valid response header` }
    : token(text);

/** With where the client came from, unless its author has put that in. */
function signInOf(annotations: AnnotationReader): string | undefined {
  const address = annotations.read(signInName, signInAddress);
  const parameter = annotations.read(parameterName, parameterNameOf) ?? "rd";
  if (address === undefined) return undefined;
  const query = address.includes("?") ? address.slice(address.indexOf("?") + 1) : "";
  if (query.split("&").some((one) => one.startsWith(`${parameter}=`))) return address;
  const separator = query === "" ? (address.includes("?") ? "" : "?") : "&";
  return `${address}${separator}${parameter}=$pass_access_scheme://$http_host$escaped_request_uri`;
}

const signInAddress: Parse<string> = (text) => {
  const parsed = location(text);
  const unknown = unknownPlace(text);
  return unknown === undefined
    ? parsed
    : { problem: `the variable $${unknown} is not supported here` };
};

const parameterNameOf: Parse<string> = (text) =>
  /^[A-Za-z0-9_.-]{1,64}$/.test(text)
    ? { value: text }
    : { problem: `${shown(text)} is not the name of a parameter` };
