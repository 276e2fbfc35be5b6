// A log line that is a JSON object, read as nginx's variables whatever its author called them:
// `upstream_addr`, `upstreamAddr` and `upstream` are one thing. Also Envoy's and Traefik's names, and
// objects in which a log shipper has wrapped the line.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";
import type { LogValues } from "./log-format.ts";

export type JsonLine =
  | { readonly type: "values"; readonly values: LogValues }
  /** A shipper's envelope around the proxy's own line. */
  | { readonly type: "wrapped"; readonly line: string; readonly time: string | undefined };

/** nginx's variable by the name in the object, in lower case without anything but letters and digits. */
const variables: ReadonlyMap<string, string> = new Map(
  Object.entries({
    msec: "msec epochseconds",
    time_iso8601: "timeiso8601 time timestamp ts datetime date timelocal",
    start_time: "starttime startutc",
    status: "status responsecode statuscode downstreamstatus responsestatus httpstatus",
    request: "request requestline",
    request_method: "requestmethod method httpmethod verb",
    request_uri: "requesturi target requestpath uri path url",
    args: "args requestquery querystring query",
    host: "host vhost httphost requesthost authority requestauthority servername",
    request_time: "requesttime seconds",
    milliseconds: "milliseconds durationms requesttimems",
    duration: "duration",
    origin_duration: "originduration",
    upstream_addr: "upstreamaddr upstream upstreamhost upstreamaddress serviceaddr",
    upstream_status: "upstreamstatus upstreamstatuscode originstatus",
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

/** Where shippers put the line: docker, fluentd, Fluent Bit, Filebeat, journald. */
const envelopeFields = ["log", "message", "MESSAGE", "msg"];
const envelopeTimes = ["time", "@timestamp", "timestamp"];

/** About the pod that wrote the log, not about the request. */
const foreignFields = new Set(["kubernetes", "k8s", "docker", "container", "agent", "labels"]);

/** Depth and number of fields of any access log by far. */
const depthMax = 4;
const fieldsMax = 500;

/** Undefined when it is no such object. */
export function readJsonLine(text: string): JsonLine | undefined {
  const object = parsed(text);
  if (!isRecord(object)) return undefined;
  const found = new Map<string, { value: string; rank: number }>();
  collect(object, found, { depth: 0, fields: 0 });
  // Traefik leaves the server out where it tried none; nobody else calls the status so.
  if (object["DownstreamStatus"] !== undefined && !found.has("upstream_addr")) {
    found.set("upstream_addr", { value: "-", rank: 0 });
  }
  if (!found.has("status")) {
    const line = firstText(object, envelopeFields);
    if (line !== undefined) {
      return { type: "wrapped", line, time: firstText(object, envelopeTimes) };
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
  spent: { depth: number; fields: number },
): void {
  for (const [field, value] of Object.entries(object)) {
    spent.fields += 1;
    if (spent.fields > fieldsMax) return;
    if (isRecord(value)) {
      if (spent.depth >= depthMax || foreignFields.has(field)) continue;
      spent.depth += 1;
      collect(value, found, spent);
      spent.depth -= 1;
      continue;
    }
    const variable = variableNamed(field);
    if (variable === undefined) continue;
    const rank = ranks.get(plain(field)) ?? 0;
    if ((found.get(variable)?.rank ?? Number.POSITIVE_INFINITY) <= rank) continue;
    if (typeof value === "string" || typeof value === "number") {
      found.set(variable, { value: String(value), rank });
    } else if (value === null && variable === "upstream_addr") {
      // Envoy's word for nobody.
      found.set(variable, { value: "-", rank });
    }
  }
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
