// A log line that is a JSON object, read as nginx's variables whatever its author called them:
// `upstream_addr`, `upstreamAddr` and `upstream.addr` are one thing. Also Envoy's, Traefik's and Kong's
// names, and objects in which a log shipper has wrapped the line.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";
import type { LogValues } from "./log-format.ts";
import { logTime } from "./log-time.ts";

export type JsonLine =
  | { readonly type: "values"; readonly values: LogValues }
  /** A shipper's envelope around the proxy's own line. */
  | { readonly type: "wrapped"; readonly line: string; readonly time: string | undefined };

/** nginx's variable by the name in the object, in lower case without anything but letters and digits. */
const variables: ReadonlyMap<string, string> = new Map(
  Object.entries({
    msec: "msec epochseconds",
    time_iso8601: "timeiso8601 time timestamp ts datetime date timelocal",
    start_time: "starttime startutc startedat",
    status: "status responsecode statuscode downstreamstatus responsestatus httpstatus",
    request: "request requestline",
    request_method: "requestmethod method httpmethod verb",
    request_uri: "requesturi target requestpath uri path url",
    args: "args requestquery querystring query",
    host: "host vhost httphost requesthost authority requestauthority servername",
    request_time: "requesttime seconds",
    milliseconds: "milliseconds durationms requesttimems latenciesrequest",
    duration: "duration",
    origin_duration: "originduration",
    upstream_addr:
      "upstreamaddr upstream upstreamhost upstreamaddress upstreamaddresslist serviceaddr tries",
    upstream_status: "upstreamstatus upstreamstatuscode upstreamresponsestatuscode originstatus",
    upstream_response_time: "upstreamresponsetime responseseconds",
    upstream_header_time: "upstreamheadertime headerseconds",
    upstream_response_length: "upstreamresponselength",
    proxy_upstream_name: "proxyupstreamname upstreamname",
    proxy_alternative_upstream_name: "proxyalternativeupstreamname",
    namespace: "namespace ingressnamespace",
    service_name: "servicename",
    service: "service",
    response_flags: "responseflags",
    upstream_cluster: "upstreamcluster",
  }).flatMap(([variable, names]) => names.split(" ").map((name) => [name, variable] as const)),
);

/** Which of several names of one variable counts: the one that stands first above. */
const ranks: ReadonlyMap<string, number> = new Map(
  [...variables.keys()].map((name, index) => [name, index]),
);

/** Where shippers put the line: docker, fluentd, Fluent Bit, Filebeat, journald, Loki, clouds. */
const envelopeFields = ["log", "message", "MESSAGE", "msg", "line", "textPayload", "_raw"];
const envelopeTimes = ["time", "@timestamp", "timestamp", "_time"];
/** Search results have each line one level down. */
const hitFields = ["_source", "result"];

/** About the pod that wrote the log, not about the request. */
const foreignFields = new Set([
  "kubernetes",
  "k8s",
  "docker",
  "container",
  "agent",
  "labels",
  "resource",
]);

/** Below such a field only names that begin with it count: an upstream's status is not the request's. */
const upstreamField = /^(?:upstream|backend|origin)/;

/** Depth and number of fields of any access log by far. */
const depthMax = 4;
const fieldsMax = 500;

/** Undefined when it is no such object. */
export function readJsonLine(text: string): JsonLine | undefined {
  const object = parsed(text);
  if (!isRecord(object)) return undefined;
  const found = new Map<string, { value: string; rank: number }>();
  collect(object, found, { path: [], fields: 0 });
  // Traefik omits the server if it tried none; only Traefik uses this name for the status.
  if (object["DownstreamStatus"] !== undefined && !found.has("upstream_addr")) {
    found.set("upstream_addr", { value: "-", rank: 0 });
  }
  if (!found.has("status")) {
    for (const place of [object, ...hitFields.map((field) => object[field]).filter(isRecord)]) {
      const line = firstText(place, envelopeFields);
      if (line !== undefined) {
        return { type: "wrapped", line, time: firstText(place, envelopeTimes) };
      }
    }
  }
  return {
    type: "values",
    values: new Map([...found].map(([name, { value }]) => [name, value])),
  };
}

/** The variable that a field or label of this name holds. */
export function variableNamed(name: string): string | undefined {
  return variables.get(plain(name));
}

function collect(
  object: RawRecord,
  found: Map<string, { value: string; rank: number }>,
  spent: { readonly path: string[]; fields: number },
): void {
  const { path } = spent;
  for (const [field, value] of Object.entries(object)) {
    spent.fields += 1;
    if (spent.fields > fieldsMax) return;
    if (isRecord(value)) {
      if (path.length >= depthMax || foreignFields.has(field)) continue;
      path.push(plain(field));
      collect(value, found, spent);
      path.pop();
      continue;
    }
    const name = knownName(path, plain(field));
    const variable = name === undefined ? undefined : variables.get(name);
    const text = variable === undefined ? undefined : textOf(value, variable);
    if (name === undefined || variable === undefined || text === undefined) continue;
    const rank = ranks.get(name) ?? 0;
    if ((found.get(variable)?.rank ?? Number.POSITIVE_INFINITY) <= rank) continue;
    found.set(variable, { value: text, rank });
  }
}

/** By as many of the fields around it as a known name has: `upstream.response.time` is one. */
function knownName(path: readonly string[], field: string): string | undefined {
  const upstream = path.findIndex((one) => upstreamField.test(one));
  const last = upstream < 0 ? path.length : upstream;
  for (let start = 0; start <= last; start += 1) {
    const name = path.slice(start).join("") + field;
    if (variables.has(name)) return name;
  }
  return undefined;
}

/** A value of another type belongs to another field of the same name. */
function textOf(value: unknown, variable: string): string | undefined {
  if (variable === "upstream_addr" && (value === null || Array.isArray(value))) {
    // Envoy's placeholder for no endpoint, and lists of all tried endpoints.
    return Array.isArray(value) ? value.map(placeText).join(", ") : "-";
  }
  if (Array.isArray(value)) {
    return value.every(isPlain) ? value.join(", ") : undefined;
  }
  if (!isPlain(value)) return undefined;
  const text = String(value);
  if (variable === "status") return /^\d{3}$/.test(text) ? text : undefined;
  if (variable === "time_iso8601") return logTime(text) === undefined ? undefined : text;
  return text;
}

/** Kong writes an address and a port, others both in one. */
function placeText(tried: unknown): string {
  if (isPlain(tried)) return String(tried);
  const [address, port] = isRecord(tried) ? [tried["ip"], tried["port"]] : [];
  if (typeof address !== "string" || !isPlain(port)) return "-";
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}

function isPlain(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
}

function firstText(object: RawRecord, fields: readonly string[]): string | undefined {
  for (const field of fields) {
    const value = object[field];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what the line is not.
    return undefined;
  }
}
