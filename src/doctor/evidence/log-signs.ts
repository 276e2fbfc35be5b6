// The messages that the doctor knows, of every version, each as a sign with its values. A new message
// is one row of the table. The `needle` is a piece of the line that has neither quotes nor escapes, of
// eight characters or more: all of them are searched in one pass over the raw line, and only a line
// that has one is parsed.
import { parseGoDuration } from "../../environment/go-duration.ts";
import { type LogLine, readLogLine, unknownYear } from "./log-line.ts";

export type SignName =
  | "api-overloaded"
  | "api-unreachable"
  | "cache-behind"
  | "certificate-time"
  | "container-crashed"
  | "controller-started"
  | "discovery-throttled"
  | "endpoint-synced"
  | "endpoint-write-failed"
  | "endpoints-throttled"
  | "endpoints-written"
  | "etcd-clock"
  | "etcd-delay"
  | "etcd-heartbeat"
  | "etcd-leader"
  | "etcd-peer-lost"
  | "etcd-slow"
  | "etcd-unanswered"
  | "forbidden"
  | "kubernetes-endpoints-reset"
  | "kubernetes-endpoints-seen"
  | "leader-elected"
  | "leader-held"
  | "leader-lost"
  | "liveness-failed"
  | "no-active-endpoint"
  | "node-not-found"
  | "node-not-ready"
  | "node-returned"
  | "node-silent"
  | "node-status-failed"
  | "pleg-unhealthy"
  | "pod-stopped"
  | "probe-failed"
  | "proxy-reload"
  | "push-failed"
  | "reload-required"
  | "slow-request"
  | "status-write-failed"
  | "throttled"
  | "unauthorized"
  | "upstream-refused"
  | "upstream-timeout"
  | "watch-failed"
  | "zone-back"
  | "zone-lost";

/** Of `cache-behind`: no try has succeeded. */
export const givenUp = "all tries conflict";

/** The meaning of one line. `ms` is a duration where the message has one. */
export interface LogSign {
  readonly name: SignName;
  /** The thing that it concerns: a URL, a node, a holder, an address. */
  readonly subject: string;
  readonly ms: number | undefined;
  /** A second word, by sign: the verb of a request, the reason of a failure. */
  readonly detail: string;
  /** How often it happened, where one line stands for many: `(x7381 over 20h)`. */
  readonly times: number;
}

type Value = "subject" | "ms" | "detail";
type SignValues = Pick<LogSign, Value>;

interface SignForm {
  readonly name: SignName;
  readonly needle: string;
  read(line: LogLine): SignValues | undefined;
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
      const found =
        pattern.exec(line.message) ??
        pattern.exec(line.values.get("err") ?? line.values.get("error") ?? "");
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
  needle: string = message,
): SignForm {
  return {
    name,
    needle,
    read(line) {
      if (line.message !== message) return undefined;
      const value = (key: Value) => line.values.get(keys[key] ?? "");
      return signValues({ subject: value("subject"), ms: value("ms"), detail: value("detail") });
    },
  };
}

/** Longer than a late heartbeat takes. */
const downMs = 300_000;

/**
 * A node without a heartbeat. The controller manager counts from its own start, so a node that it finds
 * Unknown, with a heartbeat of long ago, is down, not late.
 */
function silentNode(): SignForm {
  const needle = "been updated for";
  const ready =
    /Type:Ready,? ?Status:(\w+),? ?LastHeartbeatTime:(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/;
  const others = /Last (?!Ready\b|ready )/;
  return {
    name: "node-silent",
    needle,
    read({ message, atMs }) {
      const found = /\b[Nn]ode (\S+) hasn't been updated for (\S+?)\.(?: |$)/.exec(message);
      if (found === null) return undefined;
      // Each condition of the node has a line of its own; one of them is enough.
      if (others.test(message) && message.includes("Status:Unknown")) return undefined;
      const [, status, date, time] = ready.exec(message) ?? [];
      const isDown = status === "Unknown" && sinceMs(`${date}T${time}Z`, atMs) > downMs;
      return isDown ? undefined : signValues({ subject: found[1], ms: found[2] });
    },
  };
}

/** From a date to a time that may have no year. Both were written by one process, in one time zone. */
function sinceMs(date: string, atMs: number | undefined): number {
  if (atMs === undefined) return 0;
  const from = new Date(date);
  const hasYear = new Date(atMs).getUTCFullYear() > unknownYear;
  if (!hasYear) from.setUTCFullYear(unknownYear);
  const ms = atMs - from.getTime();
  return ms >= 0 || hasYear ? ms : ms + yearMs;
}

const yearMs = 366 * 86_400_000;

/** A heartbeat of a kubelet that got no answer, and the time to the next try. */
function heartbeatFailed(needle: string, message: RegExp): SignForm {
  return {
    name: "node-status-failed",
    needle,
    read(line) {
      const reason = line.values.get("err") ?? line.message;
      const isUnanswered = timedOut.test(reason) || cutUrl.test(reason);
      if (!message.test(line.message) || !isUnanswered) return undefined;
      const retry = /will retry in (\S+?),/.exec(line.message)?.[1] ?? line.values.get("interval");
      return signValues({ detail: reason, ms: retry });
    },
  };
}

/** Until 1.6 a failed renewal says no more than its error. */
function leaderError(): SignForm {
  return {
    name: "leader-lost",
    needle: "leaderelection.go",
    read({ caller, message }) {
      const reason = /^err: (.+)/s.exec(message)?.[1];
      if (reason === undefined || caller?.startsWith("leaderelection.go") !== true)
        return undefined;
      return signValues({ subject: "", detail: reason });
    },
  };
}

/** Of `upstream-refused`: it does not say whether the connection or its TLS handshake failed. */
export const unnamedFailure = "connection failure";

/** Of `leader-lost`: the process ends because of it. */
export const endedByLoss = "ended by the loss";

/** Of `leader-lost`: no renewal succeeded until the lock was lost. */
export const renewalTimedOut = "context deadline exceeded";

/** An operator gets the loss as the error of its manager, which has ended; in a log line it may be in quotes. */
const endOfManager =
  /^(?:.*: )?leader election lost$|"error": ?"leader election lost"|problem running manager/s;

/** A process that is asked to end gives its lock up, which is no loss. */
function electionLost(): SignForm {
  const needle = "election lost";
  return {
    name: "leader-lost",
    needle,
    read({ message, severity, values }) {
      const error = values.get("err") ?? values.get("error") ?? "";
      const text = `${message} ${error}`;
      if (!/[Ll]eader ?election lost/.test(text) || text.includes("stop sequence"))
        return undefined;
      const isEnd = severity === "fatal" || endOfManager.test(error) || endOfManager.test(text);
      return signValues({ detail: isEnd ? endedByLoss : "leader election lost" });
    },
  };
}

/** Reasons of the Node authorizer: the object is of another node, and no role is missing. */
const ofOtherNode =
  /no relationship found between node|can only access (?:node lease|CSINode) with the same name|only its own Node object/;

/** A refusal of RBAC; its namespace belongs to the request. */
function forbidden(): SignForm {
  const refusal =
    /[Uu]ser \\?"([^"\\]+)\\?" cannot (.+?)(?: at the cluster scope| in the namespace \\?"([^"\\]+)|:|$)/;
  return {
    name: "forbidden",
    needle: " cannot ",
    read({ message, values }) {
      const text = refusal.test(message)
        ? message
        : (values.get("err") ?? values.get("error") ?? "");
      const [, subject, request, namespace] = refusal.exec(text) ?? [];
      if (request === undefined || ofOtherNode.test(text)) return undefined;
      const where = namespace === undefined ? "" : ` in the namespace "${namespace}"`;
      return signValues({ subject, detail: `${request}${where}` });
    },
  };
}

/**
 * API servers of extensions are asked for the same paths, by the API server itself. While it starts it asks itself,
 * at the address where it will listen.
 */
function unreachable(needle: string, pattern: RegExp): SignForm {
  const form = plain("api-unreachable", needle, pattern, "subject", "detail");
  const isOfServer = ({ message }: LogLine) =>
    /missing response from|https?:\/\/(?:0\.0\.0\.0|\[::\]):/.test(message);
  return { ...form, read: (line) => (isOfServer(line) ? undefined : form.read(line)) };
}

/** The endpoint controller writes an object: the same fact as the request at the API server. */
function endpointsUpdated(): SignForm {
  const needle = "Update endpoints";
  return {
    name: "endpoints-written",
    needle,
    read({ message, values }) {
      const plainName = /^Update endpoints for ([^\s,]+), ready: \d+/.exec(message)?.[1];
      const service = message === needle ? values.get("service") : plainName;
      const [namespace, name] = (service ?? "").split("/");
      if (namespace === undefined || name === undefined) return undefined;
      const subject = `/api/v1/namespaces/${namespace}/endpoints/${name}`;
      return signValues({ subject, detail: "PUT" });
    },
  };
}

/**
 * A service that the endpoint controllers give up: each of 15 tries, within more than a minute, was refused
 * because it was made from an old state.
 */
function droppedService(): SignForm {
  const needle = "ropping service";
  return {
    name: "cache-behind",
    needle,
    read({ message, values }) {
      const reason = values.get("err") ?? message;
      if (!/object has been modified|cache is out of date/.test(reason)) return undefined;
      const service = /service "([^"]+)"/.exec(message)?.[1];
      const subject = values.get("service") ?? values.get("key") ?? service ?? "";
      return signValues({ subject, detail: givenUp });
    },
  };
}

function cacheBehind(): SignForm {
  const needle = "informer cache is out of date";
  return {
    name: "cache-behind",
    needle,
    read(line) {
      const { message, values } = line;
      if (!`${message} ${values.get("err") ?? ""}`.includes(needle)) return undefined;
      const service = /for service "([^"]+)"/.exec(message)?.[1];
      const name = values.get("service") ?? values.get("key") ?? service ?? "";
      const version = /resource version (\d+)/.exec(values.get("err") ?? message)?.[1];
      const subject = version === undefined ? name : `${name} at version ${version}`;
      return signValues({ subject, detail: needle });
    },
  };
}

function signValues(values: Partial<Record<Value, string | undefined>>): SignValues {
  const ms =
    values.ms === undefined ? undefined : parseGoDuration(values.ms.replace(/[,;.)]+$/, ""));
  // A line end that the program wrote itself belongs to neither.
  return { subject: values.subject?.trim() ?? "", ms, detail: values.detail?.trim() ?? "" };
}

const dialProblem =
  "connection refused|i\\/o timeout|no route to host|network is unreachable|connection timed out";

/** The system call that failed: until Go 1.9, which built Kubernetes up to 1.10, and since. */
const dialStep = "(?:(?:getsockopt|connect): )?";

/** journalctl cuts a line at the width of the terminal: `connect: co>`. */
const cutProblem = String.raw`[a-z\/: ]{0,30}[>…]$`;

/** Kinds of the core API: applications have paths below `/api/v1` too. */
const coreKinds =
  "bindings|componentstatuses|configmaps|endpoints|events|limitranges|namespaces|nodes|persistentvolume" +
  "|pods|podtemplates|replicationcontrollers|resourcequotas|secrets|serviceaccounts|services";

/** A request to an API server: probes, scrapes and webhooks go to other paths. */
const apiRequest = String.raw`https?:\/\/([^\/\s"\\]+)\/(?:api\/v1\/(?:watch\/)?(?:${coreKinds})|apis\/[a-z0-9.-]+(?:\/v\d|\b)|apis?(?:\/v1)?(?:\?|\\?")|version\b)[^\s"\\]*\\?"?: `;

/** Answers, so the connection works: a conflict, or a kind that is not installed. */
const isAnswered =
  /the object has been modified|could not find the requested resource|no relationship found between node/;

/** A quiet watch ends like this when etcd is compacted; the client lists again and misses nothing. */
const isCompacted =
  /too old resource version|provided (?:watch|resource ?[vV]ersion|continue parameter) is too old|has been compacted/;

/** A terminal has cut the line before the reason. */
const cutUrl = /\b(?:Get|Put|Patch|Post) \\?"?https?:\/\/[^\s"\\]*$/;

/** The request was sent or tried, and no answer came. */
const timedOut =
  /context deadline exceeded|Client\.Timeout|timed out|i\/o timeout|TLS handshake timeout|connection lost|unexpected EOF|connection reset|closed network connection|did not complete within/;

/** Built-in roles exist from the start; without them the API server is still starting. */
const builtInUser = /^system:(?:anonymous$|kube-scheduler$|kube-controller-manager$)/;

const forms: readonly SignForm[] = [
  // client-go's own limit: to 1.20, 1.21 to 1.32, since 1.33.
  plain(
    "throttled",
    "Throttling request took",
    /Throttling request took (\S+), request: ([A-Z]+):(.+)/,
    "ms",
    "detail",
    "subject",
  ),
  plain(
    "throttled",
    "Waited for ",
    /Waited for (\S+?),? (?:due to client-side throttling, not priority and fairness,|.* -) request: ([A-Z]+):(.+)/,
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
    /Resetting endpoints for master service "kubernetes" to (.*)/s,
    "subject",
  ),
  plain(
    "kubernetes-endpoints-seen",
    "Setting endpoints for",
    /Setting endpoints for "?default\/kubernetes:?[\w-]*"? to (\[.*)/s,
    "subject",
  ),

  // Requests at the API server.
  plain(
    "etcd-slow",
    "GuaranteedUpdate etcd3",
    /^Trace\[\d+\]: "(GuaranteedUpdate etcd3)".*?total time: (\S+?)\)/s,
    "detail",
    "ms",
  ),
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
  plain(
    "endpoints-written",
    "/endpoints",
    /(?:^|\] )([A-Z]+)(?:-endpoints)? (\/\S*): \((\S+)\) \d+/,
    "detail",
    "subject",
    "ms",
  ),
  structured(
    "endpoints-written",
    "HTTP",
    { detail: "verb", subject: "URI", ms: "latency" },
    "/endpoints",
  ),
  plain(
    "api-overloaded",
    "oo many requests",
    /(oo many requests, please try again later|erver has received too many requests|oo many requests and no more seats)/,
    "detail",
  ),
  plain("api-overloaded", "s) 429 [", /^([A-Z]+ \/\S*: \(\S+\) 429) \[/, "detail"),
  // A watch through an extension's server ends like this each time.
  plain(
    "api-overloaded",
    "abort while handling",
    /([Tt]imeout or abort while handling)(?!.*\bwatch=(?:true|1)\b)/s,
    "detail",
  ),
  plain("api-overloaded", "Handler timeout", /(Handler timeout)/, "detail"),
  // The answer 504, as clients print it.
  plain(
    "api-overloaded",
    "response in the time allotted",
    /(unable to return a response in the time allotted)/,
    "detail",
  ),
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
    "watch-failed",
    "Failed to ",
    /Failed to (?:list|watch) ([*\w./]+): (.*)/s,
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
    /watch of ([*\w.]+) ended with: (.*)/s,
    "subject",
    "detail",
  ),
  forbidden(),
  // Clients that leave the user out.
  plain("forbidden", "can't watch", /can't (watch [\w.]+): forbidden/, "detail"),
  plain("forbidden", "can't list ", /can't (list [\w.]+): forbidden/, "detail"),
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
  unreachable(
    "dial tcp",
    new RegExp(`${apiRequest}dial tcp:? \\S+ ${dialStep}(${dialProblem}|${cutProblem})`),
  ),
  unreachable("TLS handshake timeout", new RegExp(`${apiRequest}.*(TLS handshake timeout)`)),
  unreachable(
    "Client.Timeout exceeded",
    new RegExp(`${apiRequest}.*(Client\\.Timeout exceeded while awaiting headers)`),
  ),
  plain(
    "certificate-time",
    "certificate has expired or is not yet valid",
    /certificate has expired or is not yet valid:?(.*)/s,
    "detail",
  ),

  // Leader election.
  plain("leader-elected", "leader elected", /\b[Nn]ew +leader elected:? +(\S+)/, "subject"),
  structured("leader-elected", "New leader elected", { subject: "identity" }),
  plain(
    "leader-held",
    "lock is held by",
    /^lock is held by (\S+) and has not yet expired/,
    "subject",
  ),
  electionLost(),
  leaderError(),
  plain("leader-lost", "stopped leading", /(stopped leading)/, "detail"),
  plain("leader-lost", "lost master", /\b(lost master)$/, "detail"),
  plain(
    "leader-lost",
    "failed to renew lease",
    /[Ff]ailed to renew lease ([^\s:]+):? ?(.*)/s,
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
  silentNode(),
  structured("node-silent", "Node hasn't been updated", { subject: "node", ms: "duration" }),
  plain(
    "node-not-ready",
    "NodeNotReady event message",
    /\bRecording (?:status change )?NodeNotReady event message for node (\S+)/,
    "subject",
  ),
  structured("node-not-ready", "Recording status change event message for node", {
    subject: "node",
    detail: "status",
  }),
  plain(
    "node-not-ready",
    "status is now: NodeNotReady",
    /Node (\S+) status is now: NodeNotReady/,
    "subject",
  ),
  structured(
    "node-not-ready",
    "Event occurred",
    { subject: "object", detail: "reason" },
    "NodeNotReady",
  ),
  plain(
    "node-returned",
    "ReadyCondition for Node",
    /ReadyCondition for Node (\S+) transitioned from Unknown to &?\{\S* ?Ready (?:Status:)?True/,
    "subject",
  ),
  plain(
    "zone-lost",
    "ontroller detected that zone",
    /ontroller detected that zone (\S+) is now in state ((?:Full|Partial)Disruption)/,
    "subject",
    "detail",
  ),
  structured(
    "zone-lost",
    "Controller detected that zone is now in new state",
    { subject: "zone", detail: "newState" },
    "zone is now in new state",
  ),
  plain(
    "zone-back",
    "ontroller detected that zone",
    /ontroller detected that zone (\S+) is now in state Normal/,
    "subject",
  ),
  plain("node-not-ready", "became not ready", /^Node became not ready:? ?(.*)/s, "detail"),
  structured("node-not-ready", "Node became not ready", { subject: "node", detail: "condition" }),
  plain(
    "pleg-unhealthy",
    "PLEG is not healthy",
    /PLEG is not healthy: pleg was last seen active (\S+) ago/i,
    "ms",
  ),
  heartbeatFailed("updating node status", /[Ee]rror updating node status, will retry/),
  heartbeatFailed("nable to update node status", /nable to update node status/),
  heartbeatFailed("lease exists", /[Ff]ailed to ensure (?:node )?lease exists/),
  heartbeatFailed("ailed to update", /[Ff]ailed to update (?:node )?lease/),
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

  // Containers that end by themselves, and those that are ended because of their liveness probe.
  plain("container-crashed", "OOMKilled", /\b(OOMKilled)\b/, "detail"),
  plain(
    "container-crashed",
    "restarting failed container",
    /(Back-off restarting failed container)/,
    "detail",
  ),
  plain("container-crashed", "CrashLoopBackOff", /\b(CrashLoopBackOff)\b/, "detail"),
  plain(
    "liveness-failed",
    "iveness probe",
    /Liveness probe (?:for "[^"]*" )?(failed|errored)/,
    "detail",
  ),

  // Proxies.
  plain(
    "upstream-refused",
    "while connecting to upstream",
    /(?:^|connect\(\) )failed \(1\d\d: ([^)]+)\) while connecting to upstream.*?upstream: "(?:[a-z]+:\/\/)?([^/"]+)/s,
    "detail",
    "subject",
  ),
  plain(
    "upstream-timeout",
    "upstream timed out",
    /upstream timed out \(110: \w+ timed out\) while (connecting) to upstream.*?upstream: "(?:[a-z]+:\/\/)?([^/"]+)/s,
    "detail",
    "subject",
  ),
  // Traefik, Envoy and HAProxy.
  plain(
    "upstream-refused",
    "Bad Gateway' caused by",
    new RegExp(`'502 Bad Gateway' caused by: dial tcp (\\S+?): ${dialStep}(${dialProblem})`),
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "to backend: dial tcp",
    new RegExp(
      `Error while connect(?:ing|ion) to backend: dial tcp (\\S+?): ${dialStep}(${dialProblem})`,
    ),
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "502 Bad Gateway",
    new RegExp(
      `502 Bad Gateway\\b.*? (?:error|err)="?dial tcp (\\S+?): ${dialStep}(${dialProblem})`,
    ),
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "upstream_reset_before_response_started{",
    /" 503 UF\S* upstream_reset_before_response_started\{[^}]*connection[_ ]failure[^}]*\}.*?"(\d+\.\d+\.\d+\.\d+:\d+)"/,
    "subject",
  ),
  // Access logs of Envoy in JSON, and those of before 1.14, which give no reason beside the flag.
  plain(
    "upstream-refused",
    "upstream_reset_before_response_started{",
    /^\{(?=.*\{[^}]*connection[_ ]failure).*"(?:upstream_?[Hh]ost|host)" ?: ?"(\d+\.\d+\.\d+\.\d+:\d+)"/,
    "subject",
  ),
  // The body of its answer, which clients print. It says less when Envoy is older than 1.14.
  plain(
    "upstream-refused",
    "reset reason: ",
    /^(?!.*gRPC config stream).*\breset reason: (?:remote |local )?(connection failure)(?!, transport)/s,
    "detail",
  ),
  plain(
    "upstream-refused",
    "reset reason: ",
    /^(?!.*gRPC config stream).*\breset reason: (?:remote |local )?connection failure, transport failure reason: ((?:delayed|immediate) connect error: \d+)/s,
    "detail",
  ),
  plain(
    "upstream-timeout",
    "reset reason: ",
    /^(?!.*gRPC config stream).*\breset reason: (connection timeout)/s,
    "detail",
  ),
  // Its debug log, whose lines about one request have the address elsewhere.
  plain(
    "upstream-refused",
    "upstream_reset_before_response_started{",
    /Sending local reply with details upstream_reset_before_response_started\{(connection)[_ ]failure/,
    "detail",
  ),
  plain("upstream-refused", '" 503 UF', /" 503 UF\S* .*"(\d+\.\d+\.\d+\.\d+:\d+)"/, "subject"),
  plain(
    "no-active-endpoint",
    "no_healthy_upstream",
    /" 503 UH no_healthy_upstream .*?outbound\|\d+\|[^|]*\|([\w.-]+)/,
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "no_healthy_upstream",
    /^\{(?=.*": ?"no_healthy_upstream")(?:.*"upstream_?[Cc]luster": ?"([^"]+)")?/,
    "subject",
  ),
  plain(
    "upstream-refused",
    "Layer4 connection problem",
    /Server (\S+\/(?:SRV_\d+|srv\d+)) is DOWN, reason: Layer4 connection problem, info: "([A-Z][a-z]+ [a-z ]{4,20})/,
    "subject",
    "detail",
  ),
  plain(
    "upstream-timeout",
    "Layer4 timeout",
    /Server (\S+\/(?:SRV_\d+|srv\d+)) is DOWN, reason: (Layer4 timeout)/,
    "subject",
    "detail",
  ),
  // Linkerd; its older proxies name the address at the end, or in the description of the client.
  plain(
    "upstream-refused",
    "connect error to Client",
    /connect error to Client \{.{0,80}?remote: V[46]\(([^)]{1,60})\).{0,2000}?: ((?:No route|Connection) [a-z ]+?) \(os error \d+\)/,
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "Failed to connect error=",
    /Failed to connect error=(?:endpoint )?(\d[\d.]+:\d+): ((?:No route|Connection) [a-z ]+?) \(os error/,
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "error trying to connect",
    /target\.addr=(\d[\d.]+:\d+).*error trying to connect: ([^(]{1,60})/,
    "subject",
    "detail",
  ),
  plain(
    "upstream-refused",
    "error trying to connect",
    /error trying to connect: ([^(]{1,60}?) \(os error \d+\) \(address: ([^)\s]+)\)/,
    "detail",
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "no live upstreams while",
    /no live upstreams while connecting to upstream.*?upstream: "[a-z]+:\/\/([^/"]+)/,
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "has no server available",
    /backend '?(\S+?)'? has no server available/,
    "subject",
  ),

  // Pods that end because they were deleted, not because a probe failed.
  plain("pod-stopped", "Stopping container", /\bKilling\s.*?Stopping container (\S+)/, "subject"),
  plain(
    "pod-stopped",
    "Need to kill",
    /Killing container with id \S+?:?\s?Need to kill (Pod)/i,
    "subject",
  ),
  plain("pod-stopped", "Deleted pod: ", /SuccessfulDelete\s.*?Deleted pod: (\S+)/, "subject"),
  plain(
    "no-active-endpoint",
    "does not have any active",
    /[Ss]ervice "?([\w./-]+)"? does not have any active [Ee]ndpoint/,
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "no available endpoints",
    /\bIngress '([^']{1,512})': no available endpoints/,
    "subject",
  ),
  plain(
    "no-active-endpoint",
    "Error obtaining Endpoints for Service",
    /Error obtaining Endpoints for Service "([^"]+)"/,
    "subject",
  ),
  plain("reload-required", "backend reload required", /(ackend reload required)/, "detail"),
  // A controller that cannot give its configuration to its proxy.
  plain("push-failed", "reconfiguration failed", /(Dynamic reconfiguration failed): .*/s, "detail"),
  plain(
    "push-failed",
    "updating Kong configuration",
    /(failure updating Kong configuration)/,
    "detail",
  ),
  plain(
    "push-failed",
    "loading configuration from kong",
    /(err loading configuration from kong)/,
    "detail",
  ),
  plain("push-failed", "update kong admin", /([Cc]ould not update kong admin)/, "detail"),
  plain("push-failed", "failed to execute adc", /(failed to execute adc command)/, "detail"),
  plain("push-failed", "failed to sync resources", /(failed to sync resources)/, "detail"),
  plain("push-failed", "failed to sync", /(failed to sync \d+ configs)/, "detail"),
  // Istio up to 1.2: a proxy takes nothing for 10 s; since then: it rejects the endpoints.
  plain("push-failed", "Repeated failure to push", /(Repeated failure to push)/, "detail"),
  plain("push-failed", "EDS: ACK ERROR", /ADS:(EDS: ACK ERROR)/, "detail"),
  plain(
    "push-failed",
    "haproxy-runtime-api.sock",
    /haproxy-runtime-api\.sock \[\d\] +(No such (?:server|backend))/,
    "detail",
  ),
  plain("push-failed", "error reloading router", /(error reloading router)/, "detail"),
  plain("proxy-reload", "successfully reloaded", /(ackend successfully reloaded)/, "detail"),
  plain(
    "status-write-failed",
    "pdating ingress",
    /([Ee]rror (?:while )?updating ingress (?:rule|status).*)/s,
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

  // Syncs and writes of the endpoint controllers, at -v=4.
  endpointsUpdated(),
  plain(
    "endpoint-synced",
    "Finished syncing service",
    /Finished syncing service "([^"]+)" endpoint(?:s| slices)\. \((\S+)\)/,
    "subject",
    "ms",
  ),
  structured(
    "endpoint-synced",
    "Finished syncing service endpoints",
    { subject: "service", ms: "startTime" },
    "Finished syncing service",
  ),
  structured(
    "endpoint-synced",
    "Finished syncing service endpoint slices",
    { subject: "key", ms: "elapsedTime" },
    "Finished syncing service",
  ),

  // Controllers whose cache is behind their own writes, and their start.
  cacheBehind(),
  droppedService(),
  // Clients without a reflector show the answer itself.
  plain(
    "cache-behind",
    "oo large resource version",
    /\bTimeout: (Too large resource version): \d+, current: \d+/,
    "detail",
  ),
  plain(
    "controller-started",
    "Starting endpoint",
    /Starting (endpoint(?: ?slice)? controller)/i,
    "subject",
  ),
  structured("controller-started", "Starting EndpointSlice controller"),

  // HAProxy: the connection to a server failed.
  plain(
    "upstream-refused",
    "haproxy[",
    /\] \S+ (\S+\/\S+) -?\d+\/-?\d+\/-1\/-1\/\+?\d+ 50[23] .* (SC|sC)[-\w]{2} /,
    "subject",
    "detail",
  ),

  // etcd.
  plain("etcd-slow", "took too long (", /took too long \((\S+?)\) to execute/, "ms"),
  structured("etcd-slow", "apply request took too long", { ms: "took" }),
  structured("etcd-slow", "slow fdatasync", { ms: "took" }),
  // People leave the quotes of its JSON out.
  plain("etcd-slow", "slow fdatasync", /slow fdatasync\W+took\W+(\S+)/, "ms"),
  structured("etcd-slow", "request stats", { ms: "time spent" }, "request stats"),
  plain("etcd-slow", "sync duration of", /sync duration of (\S+), expected less than/, "ms"),
  structured("etcd-slow", "waiting for ReadIndex response took too long, retrying", {
    ms: "retry-timeout",
  }),
  plain("etcd-slow", "etcd cluster is unavailable", /(etcd cluster is unavailable)/, "detail"),
  plain("etcd-slow", "etcdserver: request timed out", /(etcdserver: request timed out)/, "detail"),
  // A client of etcd. An etcd that is not there gives the same error, so it proves nothing.
  plain(
    "etcd-unanswered",
    "retrying of unary invoker failed",
    /^rpc error: code = DeadlineExceeded desc = (context deadline exceeded)$/,
    "detail",
  ),
  plain(
    "etcd-slow",
    "apply entries took too long",
    /apply entries took too long \[(\S+) for \d+ entries\]/,
    "ms",
  ),
  plain(
    "etcd-slow",
    "waiting for read index response",
    /(timed out waiting for read index response)/,
    "detail",
  ),
  plain(
    "etcd-heartbeat",
    "to send out heartbeat on time",
    /(failed to send out heartbeat on time)(?: \((?:exceeded the \S+ timeout|deadline exceeded) for ([^\s,)]+))?/,
    "detail",
    "ms",
  ),
  structured(
    "etcd-heartbeat",
    "leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk",
    { ms: "exceeded-duration" },
    "to send out heartbeat on time",
  ),
  plain(
    "etcd-peer-lost",
    "health check for peer",
    /health check for peer (\S+) could not connect: .{0,200}?(?:timeout|refused|no route|reset)/,
    "subject",
  ),
  plain(
    "etcd-peer-lost",
    "the connection to peer",
    /the connection to peer (\S+) is unhealthy/,
    "subject",
  ),
  // Canceled: the member itself ends the stream, because the peer was removed.
  plain(
    "etcd-peer-lost",
    "on stream M",
    /failed to dial (\S+) on stream M(?!.*\(context canceled\))/,
    "subject",
  ),
  plain(
    "etcd-peer-lost",
    "TCP streaming connection",
    /lost the TCP streaming connection with peer (\S+)/,
    "subject",
  ),
  structured(
    "etcd-peer-lost",
    "prober detected unhealthy status",
    { subject: "remote-peer-id" },
    "prober detected unhealthy",
  ),
  structured(
    "etcd-peer-lost",
    "lost TCP streaming connection with remote peer",
    { subject: "remote-peer-id" },
    "TCP streaming connection",
  ),
  plain("etcd-leader", "lost leader", /(lost leader \S+)/, "detail"),
  plain("etcd-leader", "has no leader", /(etcd member \S+ has no leader)/, "detail"),
  plain("etcd-leader", "etcdserver: no leader", /(etcdserver: no leader)/, "detail"),
  plain("etcd-leader", "no leader at term", /(no leader at term \d+)/, "detail"),
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

/** A line has a known message only if it contains one of these. */
export const signWords: readonly string[] = forms.map(({ needle }) => needle);

const formsByWord: ReadonlyMap<string, readonly SignForm[]> = new Map(
  signWords.map((word) => [word, forms.filter(({ needle }) => needle === word)]),
);

/** Of a line that contains these words; undefined when it has no known message. */
export function signsIn(raw: string, words: readonly string[]): ReadSigns | undefined {
  let line: LogLine | undefined;
  const signs: LogSign[] = [];
  for (const word of words) {
    for (const form of formsByWord.get(word) ?? []) {
      line ??= readLogLine(raw);
      const values = form.read(line);
      if (values === undefined) continue;
      const { subject, ms, detail } = values;
      const sign = narrowed({ name: form.name, subject, ms, detail, times: timesIn(raw) });
      if (sign !== undefined && !signs.some(({ name }) => name === sign.name)) signs.push(sign);
    }
  }
  if (line === undefined || signs.length === 0 || sourceCode.test(raw)) return undefined;
  return { line, signs };
}

/** A call in a program of Go that writes such a message: `klog.Errorf("…`. It is code, and was not written. */
const sourceCode = /\.(?:Info|Warn|Warning|Error|Fatal|Panic)(?:f|ln|S|Depth)?\((?:err, |ctx, )?"/;

/** Events that were counted: `40s (x7381 over 20h)`. */
const countedEvent = /(\S{1,16}) \(x(\d{1,9}) over (\S{1,16})\)/;
/** Until 1.7: `2h  10s  4210  kubelet, node-1  spec.containers{web}  Warning  Unhealthy  …`. */
const countedColumn =
  /^\s*\d+[smhd]\S*\s+\d+[smhd]\S*\s+(\d{1,9})\s+\{?(?:kubelet|default-scheduler|\w+-controller)\b/;

/** etcd 2 and 3.0 write lines that repeat only once: `[merged 52 repeated lines in 5.33s]`. */
const mergedLines = /\[merged (\d{1,9}) repeated lines? in /;

function timesIn(raw: string): number {
  if (raw.includes("[merged ")) return Math.max(1, Number(mergedLines.exec(raw)?.[1] ?? 1));
  const [, last, count, first] = raw.includes(" (x") ? (countedEvent.exec(raw) ?? []) : [];
  // The first one and the last one are as old as each other: it was the start of the pod, and it is over.
  if (count !== undefined) return last === first ? 1 : Math.max(1, Number(count));
  return Math.max(1, Number(countedColumn.exec(raw)?.[1] ?? 1));
}

/** One object: lists are read by informers of many programs. */
const endpointsPath = /\/namespaces\/[^/]+\/(?:endpoints|endpointslices)(?:[/?]|$)/;
/** Objects that are locks of leaders, not endpoints of services. */
const lockPath =
  /\/endpoints\/(?:kube-scheduler|kube-controller-manager|[^/?]*leader[^/?]*)(?:\?|$)/;
/** `/apis/apps/v1?timeout=32s`: what kubectl, helm and controllers ask when they start. */
const discoveryPath = /^(?:https?:\/\/[^/]+)?\/(?:api|apis)(?:\/[\w.-]+)?(?:\/v\d\w*)?\/?(?:\?|$)/;

/** etcd warns from 100 ms, which busy clusters reach daily; requests get late from here. */
export const etcdSlowMs = 300;

/** No machine runs for so long. */
const neverMs = 10 * 365 * 86_400_000;

/** The exact meaning of a message that stands for several; undefined when it has none of them. */
function narrowed(sign: LogSign): LogSign | undefined {
  const { name, subject, detail, ms } = sign;
  const isEndpoints = endpointsPath.test(subject) && !lockPath.test(subject);
  switch (name) {
    case "endpoints-written":
      return isEndpoints && (detail === "PUT" || detail === "POST") ? sign : undefined;
    case "throttled":
      if (isEndpoints) return { ...sign, name: "endpoints-throttled" };
      return discoveryPath.test(subject) ? { ...sign, name: "discovery-throttled" } : sign;
    case "etcd-slow":
      return ms !== undefined && ms < etcdSlowMs ? { ...sign, name: "etcd-delay" } : sign;
    case "etcd-heartbeat":
      return (ms ?? 0) >= etcdSlowMs ? { ...sign, name: "etcd-slow" } : sign;
    case "watch-failed":
      if (/Too large resource version/.test(detail)) {
        return { ...sign, name: "cache-behind", detail: "Too large resource version" };
      }
      return isAnswered.test(detail) || isCompacted.test(detail) ? undefined : sign;
    case "leader-lost":
      if (isAnswered.test(detail)) return undefined;
      // Until 1.30 a process that is asked to end has the other error: timed out waiting for the condition.
      return /^(?:failed to tryAcquireOrRenew )?context deadline exceeded$/.test(detail)
        ? { ...sign, detail: renewalTimedOut }
        : sign;
    case "status-write-failed":
      return isAnswered.test(detail) ? undefined : sign;
    case "pleg-unhealthy":
      // A kubelet that has just started has never listed its containers: 2562047 hours.
      return (ms ?? 0) > neverMs ? undefined : sign;
    case "forbidden":
      if (subject === "") return sign;
      return subject.startsWith("system:") && !builtInUser.test(subject) ? sign : undefined;
    case "zone-lost":
      return detail === "Normal" ? { ...sign, name: "zone-back" } : sign;
    case "node-not-ready":
      // Events of every kind have the same message; only this reason is meant.
      return /^(?!NodeNotReady$)[A-Z]\w+$/.test(detail) ? undefined : sign;
    case "upstream-refused":
    case "upstream-timeout":
      return upstreamSign(sign);
    default:
      return sign;
  }
}

/** Until 0.12 ingress-nginx sent requests there for services without an endpoint. */
const emptyUpstream = /^127\.0\.0\.1:8181$/;
/** Programs beside the proxy, on its own machine: PHP, an authentication service, a socket. */
const localUpstream = /^(?:127\.|localhost\b|\[::1\]|unix:)/;

function upstreamSign(sign: LogSign): LogSign | undefined {
  if (emptyUpstream.test(sign.subject)) return { ...sign, name: "no-active-endpoint", subject: "" };
  return localUpstream.test(sign.subject) ? undefined : sign;
}
