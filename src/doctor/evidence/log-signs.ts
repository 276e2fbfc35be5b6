// The messages that the doctor knows, of every version, each as a sign with its values. A new message
// is one row of the table. The `needle` is a piece of the line that has neither quotes nor escapes: it
// is searched in the raw line, and only a line that has one is parsed.
import { parseGoDuration } from "../../environment/go-duration.ts";
import { type LogLine, readLogLine } from "./log-line.ts";

export type SignName =
  | "api-overloaded"
  | "api-unreachable"
  | "certificate-time"
  | "discovery-throttled"
  | "endpoint-write-failed"
  | "endpoints-throttled"
  | "endpoints-written"
  | "etcd-clock"
  | "etcd-heartbeat"
  | "etcd-leader"
  | "etcd-slow"
  | "forbidden"
  | "http-request"
  | "kubernetes-endpoints-reset"
  | "kubernetes-endpoints-seen"
  | "leader-elected"
  | "leader-held"
  | "leader-lost"
  | "no-active-endpoint"
  | "node-not-found"
  | "node-not-ready"
  | "node-silent"
  | "node-status-failed"
  | "pleg-unhealthy"
  | "probe-failed"
  | "proxy-reload"
  | "slow-request"
  | "status-write-failed"
  | "throttled"
  | "unauthorized"
  | "upstream-refused"
  | "upstream-timeout"
  | "watch-failed"
  | "watch-too-old";

/** What one line shows. `ms` is a duration where the message has one. */
export interface LogSign {
  readonly name: SignName;
  /** What it is about: a URL, a node, a holder, an address. */
  readonly subject: string;
  readonly ms: number | undefined;
  /** A second word, by sign: the verb of a request, the reason of a failure. */
  readonly detail: string;
}

type Value = "subject" | "ms" | "detail";

interface SignForm {
  readonly name: SignName;
  readonly needle: string;
  read(line: LogLine): Omit<LogSign, "name"> | undefined;
}

/** A plain message; the groups of the pattern are these values, in this order. */
function plain(
  name: SignName,
  needle: string,
  pattern: RegExp,
  ...groups: readonly Value[]
): SignForm {
  return {
    name,
    needle,
    read(line) {
      const found = pattern.exec(line.message) ?? pattern.exec(line.values.get("err") ?? "");
      if (found === null) return undefined;
      const values: Partial<Record<Value, string | undefined>> = {};
      for (const [index, group] of groups.entries()) values[group] ??= found[index + 1];
      return signValues(values);
    },
  };
}

/** A structured message, with the keys of its values. */
function structured(
  name: SignName,
  message: string,
  keys: Partial<Record<Value, string>> = {},
): SignForm {
  return {
    name,
    needle: message,
    read(line) {
      if (line.message !== message) return undefined;
      const value = (key: Value) => line.values.get(keys[key] ?? "");
      return signValues({ subject: value("subject"), ms: value("ms"), detail: value("detail") });
    },
  };
}

function signValues(values: Partial<Record<Value, string | undefined>>): Omit<LogSign, "name"> {
  const ms =
    values.ms === undefined ? undefined : parseGoDuration(values.ms.replace(/[,;.)]+$/, ""));
  return { subject: values.subject ?? "", ms, detail: values.detail ?? "" };
}

const dialProblem =
  "connection refused|i\\/o timeout|no route to host|network is unreachable|connection timed out";

const forms: readonly SignForm[] = [
  // client-go's own limit: to 1.20, 1.21 to 1.32, since 1.33.
  plain(
    "throttled",
    "Throttling request took",
    /^Throttling request took (\S+), request: ([A-Z]+):(.+)/,
    "ms",
    "detail",
    "subject",
  ),
  plain(
    "throttled",
    "request: ",
    /^Waited for (\S+?),? (?:due to client-side throttling, not priority and fairness,|.* -) request: ([A-Z]+):(.+)/,
    "ms",
    "detail",
    "subject",
  ),
  structured("throttled", "Waited before sending request", {
    ms: "delay",
    detail: "verb",
    subject: "URL",
  }),

  // The endpoints of the `kubernetes` service: API servers write them, kube-proxy reads them.
  plain(
    "kubernetes-endpoints-reset",
    "Resetting endpoints for master service",
    /^Resetting endpoints for master service "kubernetes" to (.*)/s,
    "subject",
  ),
  plain(
    "kubernetes-endpoints-seen",
    "Setting endpoints for",
    /^Setting endpoints for "?default\/kubernetes:?[\w-]*"? to (\[.*)/s,
    "subject",
  ),

  // Requests at the API server.
  plain(
    "slow-request",
    "total time: ",
    /^Trace\[\d+\]: "([A-Za-z]+(?: [^"]+)?)".*?total time: (\S+?)\)/s,
    "subject",
    "ms",
  ),
  plain(
    "slow-request",
    "Listing from storage done",
    /^Trace\[\d+\]: \[(\S+)\] \[\S+\] (Listing from storage done)/,
    "ms",
    "subject",
  ),
  plain("http-request", " [", /^([A-Z]+) (\/\S*): \((\S+)\) \d+/, "detail", "subject", "ms"),
  structured("http-request", "HTTP", { detail: "verb", subject: "URI", ms: "latency" }),
  plain(
    "api-overloaded",
    "oo many requests",
    /(oo many requests, please try again later|oo many requests and no more seats)/,
    "detail",
  ),
  plain("api-overloaded", "Handler timeout", /(Handler timeout)/, "detail"),
  plain(
    "api-overloaded",
    "request did not complete within",
    /(request did not complete within)/,
    "detail",
  ),
  plain(
    "api-overloaded",
    "close due to unresponsiveness",
    /([Ff]orcing .*watcher close due to unresponsiveness)/,
    "detail",
  ),

  // Watches of any client, and why they fail.
  plain(
    "watch-too-old",
    "too old resource version",
    /([*\w.]+) (?:ended|closed) with: .*too old resource version/,
    "subject",
  ),
  plain("watch-failed", "Failed to list", /Failed to list ([*\w./]+): (.*)/s, "subject", "detail"),
  plain(
    "watch-failed",
    "Failed to watch",
    /Failed to watch ([*\w./]+): (.*)/s,
    "subject",
    "detail",
  ),
  structured("watch-failed", "Failed to watch", { subject: "type", detail: "err" }),
  plain(
    "watch-failed",
    "Unable to decode an event from the watch stream",
    /Unable to decode an event from the watch stream: (.*)/s,
    "detail",
  ),
  plain(
    "watch-failed",
    " ended with: ",
    /watch of ([*\w.]+) ended with: (?!.*too old resource version)(.*)/s,
    "subject",
    "detail",
  ),
  plain(
    "forbidden",
    " cannot ",
    /[Uu]ser \\?"([^"\\]+)\\?" cannot (.+?)(?: at the cluster scope| in the namespace|:|$)/,
    "subject",
    "detail",
  ),
  plain(
    "unauthorized",
    "provide credentials",
    /(the server has asked for the client to provide credentials)/,
    "detail",
  ),
  plain(
    "unauthorized",
    "Unable to authenticate the request",
    /(Unable to authenticate the request)/,
    "detail",
  ),
  plain(
    "api-unreachable",
    "dial tcp",
    new RegExp(`dial tcp:? (\\S+?):? (?:connect: )?(${dialProblem})`),
    "subject",
    "detail",
  ),
  plain(
    "certificate-time",
    "certificate has expired or is not yet valid",
    /certificate has expired or is not yet valid:?(.*)/s,
    "detail",
  ),

  // Leader election.
  plain("leader-elected", "leader elected", /^[Nn]ew +leader elected:? +(\S+)/, "subject"),
  structured("leader-elected", "New leader elected", { subject: "identity" }),
  plain(
    "leader-held",
    "lock is held by",
    /^lock is held by (\S+) and has not yet expired/,
    "subject",
  ),
  plain("leader-lost", "election lost", /(leader ?election lost)/, "detail"),
  plain("leader-lost", "stopped leading", /(stopped leading)/, "detail"),
  plain(
    "leader-lost",
    "failed to renew lease",
    /[Ff]ailed to renew lease (\S+?):? (.*)/s,
    "subject",
    "detail",
  ),
  plain(
    "leader-lost",
    "resource lock",
    /[Ee]rror retrieving resource lock (\S+?): (.*)/s,
    "subject",
    "detail",
  ),
  plain("leader-lost", "update lock", /[Ff]ailed to update lock(?: \S+)?: (.*)/s, "detail"),

  // Nodes and their heartbeats.
  plain(
    "node-silent",
    "been updated for",
    /^[Nn]ode (\S+) hasn't been updated for (\S+?)\.(?: |$)/,
    "subject",
    "ms",
  ),
  structured("node-silent", "Node hasn't been updated", { subject: "node", ms: "duration" }),
  plain(
    "node-not-ready",
    "NodeNotReady event message",
    /^Recording (?:status change )?NodeNotReady event message for node (\S+)/,
    "subject",
  ),
  structured("node-not-ready", "Recording status change event message for node", {
    subject: "node",
    detail: "status",
  }),
  plain("node-not-ready", "became not ready", /^Node became not ready:? ?(.*)/s, "detail"),
  structured("node-not-ready", "Node became not ready", { subject: "node", detail: "condition" }),
  plain(
    "pleg-unhealthy",
    "PLEG is not healthy",
    /PLEG is not healthy: pleg was last seen active (\S+) ago/i,
    "ms",
  ),
  plain(
    "node-status-failed",
    "updating node status",
    /([Ee]rror updating node status, will retry.*)/s,
    "detail",
  ),
  plain(
    "node-status-failed",
    "nable to update node status",
    /(nable to update node status.*)/s,
    "detail",
  ),
  plain(
    "node-status-failed",
    "to ensure lease exists",
    /([Ff]ailed to ensure lease exists.*)/s,
    "detail",
  ),
  plain("node-status-failed", "ailed to update lease", /([Ff]ailed to update lease.*)/s, "detail"),
  plain(
    "node-not-found",
    " not found",
    /(?:^|[^\w.])nodes? \\?"([^"\\]+)\\?" not found/,
    "subject",
  ),
  plain(
    "probe-failed",
    "eadiness probe",
    /Readiness probe (?:for "[^"]*" )?(?:failed|errored)[^:]*:? ?(.*)/s,
    "detail",
  ),

  // Proxies.
  plain(
    "upstream-refused",
    "while connecting to upstream",
    /^connect\(\) failed \(1\d\d: ([^)]+)\) while connecting to upstream.*?upstream: "[a-z]+:\/\/([^/"]+)/s,
    "detail",
    "subject",
  ),
  plain(
    "upstream-timeout",
    "upstream timed out",
    /^upstream timed out \(110: \w+ timed out\) while (\w+).*?upstream: "[a-z]+:\/\/([^/"]+)/s,
    "detail",
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "does not have any active",
    /[Ss]ervice "?([\w./-]+)"? does not have any active [Ee]ndpoint/,
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "Error obtaining Endpoints for Service",
    /^Error obtaining Endpoints for Service "([^"]+)"/,
    "subject",
  ),
  plain("proxy-reload", "successfully reloaded", /(ackend successfully reloaded)/, "detail"),
  plain(
    "status-write-failed",
    "pdating ingress",
    /([Ee]rror updating ingress (?:rule|status).*)/s,
    "detail",
  ),
  plain(
    "endpoint-write-failed",
    "rror syncing endpoint",
    /Error syncing endpoint(?:s|slices| slices)?(?: for service)? (.*)/s,
    "subject",
  ),
  plain(
    "endpoint-write-failed",
    "ailed to update endpoint",
    /[Ff]ailed to update endpoints? (.*)/s,
    "subject",
  ),

  // etcd.
  plain("etcd-slow", "took too long (", /took too long \((\S+?)\) to execute/, "ms"),
  structured("etcd-slow", "apply request took too long", { ms: "took" }),
  structured("etcd-slow", "slow fdatasync", { ms: "took" }),
  plain(
    "etcd-heartbeat",
    "to send out heartbeat on time",
    /(failed to send out heartbeat on time)/,
    "detail",
  ),
  plain("etcd-leader", "lost leader", /(lost leader \S+)/, "detail"),
  plain("etcd-leader", "leader changed", /(leader changed)/, "detail"),
  plain(
    "etcd-clock",
    "clock difference against peer",
    /clock difference against peer (\S+) is too high \[(\S+) > /,
    "subject",
    "ms",
  ),
  structured("etcd-clock", "prober found high clock drift", {
    subject: "remote-peer-id",
    ms: "clock-drift",
  }),
];

export interface ReadSigns {
  readonly line: LogLine;
  /** One of each name: a failed watch may also be a refused request. */
  readonly signs: readonly LogSign[];
}

/** Undefined for a line without a known message; most lines have not even a needle. */
export function signsIn(raw: string): ReadSigns | undefined {
  let line: LogLine | undefined;
  const signs = new Map<SignName, LogSign>();
  for (const form of forms) {
    if (!raw.includes(form.needle)) continue;
    line ??= readLogLine(raw);
    const values = form.read(line);
    if (values === undefined) continue;
    const sign = narrowed({ name: form.name, ...values });
    if (!signs.has(sign.name)) signs.set(sign.name, sign);
  }
  return line === undefined || signs.size === 0 ? undefined : { line, signs: [...signs.values()] };
}

const endpointsPath = /\/(?:endpoints|endpointslices)(?:[/?]|$)/;
/** `/apis/apps/v1?timeout=32s`: what kubectl, helm and controllers ask when they start. */
const discoveryPath = /^(?:https?:\/\/[^/]+)?\/(?:api|apis)(?:\/[\w.-]+)?(?:\/v\d\w*)?\/?(?:\?|$)/;

/** Requests that are about endpoints, or about nothing but the names of resources. */
function narrowed(sign: LogSign): LogSign {
  const { name, subject, detail } = sign;
  if (name === "http-request") {
    const isWrite = detail === "PUT" || detail === "POST";
    return isWrite && endpointsPath.test(subject) ? { ...sign, name: "endpoints-written" } : sign;
  }
  if (name !== "throttled") return sign;
  if (endpointsPath.test(subject)) return { ...sign, name: "endpoints-throttled" };
  return discoveryPath.test(subject) ? { ...sign, name: "discovery-throttled" } : sign;
}
