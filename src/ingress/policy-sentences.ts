// The policies of a route in plain sentences, for operators who ask why the proxy does this.
import type {
  BackendHeaders,
  Balance,
  Canary,
  HeaderChanges,
  Mirror,
  RoutePolicy,
} from "../decide/route-policy.ts";

export function policySentences(policy: RoutePolicy | undefined): readonly string[] {
  if (policy === undefined) return [];
  return [
    ...redirectSentences(policy),
    ...upstreamSentences(policy),
    ...limitSentences(policy),
    ...changeSentences(policy),
    ...(policy.balance === undefined ? [] : balanceSentences(policy.balance)),
    ...(policy.canaries ?? []).map(canarySentence),
    ...(policy.mirrors ?? []).map(mirrorSentence),
  ];
}

/** The changes that a rule of an HTTPRoute makes. */
function changeSentences(policy: RoutePolicy): readonly string[] {
  const { partRedirect, pathRewrite, requestHeaders, responseHeaders, ownHeaders, deadlineMs } =
    policy;
  const path = pathRewrite?.full ?? pathRewrite?.prefix;
  const what = pathRewrite?.full === undefined ? "in place of the prefix" : "as the path";
  return [
    ...(partRedirect === undefined
      ? []
      : [`every request is redirected to other parts of its address (${partRedirect.status})`]),
    ...(path === undefined ? [] : [`sent to the endpoint ${what}: ${path}`]),
    ...headerSentences("request", requestHeaders),
    ...headerSentences("response", responseHeaders),
    ...backendHeaderSentences(ownHeaders),
    ...(deadlineMs === undefined ? [] : [`an answer must begin within ${deadlineMs / 1_000} s`]),
  ];
}

function headerSentences(which: string, changes: HeaderChanges | undefined): readonly string[] {
  const { set = [], add = [], remove = [] } = changes ?? {};
  const names = [...[...set, ...add].map(({ name }) => name), ...remove];
  return names.length === 0 ? [] : [`${which} headers changed: ${names.join(", ")}`];
}

function backendHeaderSentences({ requestHeaders, responseHeaders }: BackendHeaders = {}) {
  return [
    ...headerSentences("request", requestHeaders),
    ...headerSentences("response", responseHeaders),
  ].map((one) => `for this service: ${one}`);
}

function redirectSentences(policy: RoutePolicy): readonly string[] {
  const { httpsRedirect, redirect, hostRedirect, appRoot } = policy;
  return [
    ...(httpsRedirect === undefined
      ? []
      : [`requests without TLS are redirected to https (${httpsRedirect})`]),
    ...(redirect === undefined
      ? []
      : [`every request is redirected to ${redirect.location} (${redirect.status})`]),
    ...(hostRedirect === undefined
      ? []
      : [`every request is redirected to ${hostRedirect.host} (${hostRedirect.status})`]),
    ...(appRoot === undefined ? [] : [`requests for / are redirected to ${appRoot} (302)`]),
  ];
}

function upstreamSentences(policy: RoutePolicy): readonly string[] {
  const { rewrite, upstreamHost, forwardedPrefix, protocol } = policy;
  const { verifyUpstream, timeouts, tries, retryOn } = policy;
  const times = Object.entries(timeouts ?? {}).map(([name, ms]) => {
    return `${name.replace(/Ms$/, "")} ${Number(ms) / 1_000} s`;
  });
  return [
    ...(rewrite === undefined ? [] : [`path sent to the endpoint: ${rewrite}`]),
    ...(upstreamHost === undefined ? [] : [`host sent to the endpoint: ${upstreamHost}`]),
    ...(forwardedPrefix === undefined
      ? []
      : [`X-Forwarded-Prefix sent to the endpoint: ${forwardedPrefix}`]),
    ...(protocol === undefined ? [] : [`protocol of the endpoint: ${protocol}`]),
    ...(verifyUpstream === true
      ? ["certificate of the endpoint is verified with the CA bundle"]
      : []),
    ...(times.length === 0 ? [] : [`timeouts: ${times.join(", ")}`]),
    ...(tries === undefined ? [] : [`maximum tries: ${tries}`]),
    ...(retryOn === undefined ? [] : [`another try after an answer with ${retryOn.join(", ")}`]),
  ];
}

function limitSentences(policy: RoutePolicy): readonly string[] {
  const { maxBodyBytes, streamBodies, largeHeaders } = policy;
  const { allowFrom, denyFrom, rateLimit, basicAuth, externalAuth, cors } = policy;
  const exempt = rateLimit?.exceptFrom ?? [];
  return [
    ...(maxBodyBytes === undefined
      ? []
      : [
          maxBodyBytes === 0
            ? "maximum body size: unlimited"
            : `maximum body size: ${sizeText(maxBodyBytes)}`,
        ]),
    ...(streamBodies === true ? ["request bodies are streamed"] : []),
    ...(largeHeaders === true ? ["maximum response headers: 128 KiB"] : []),
    ...(denyFrom === undefined ? [] : [`denied clients: ${denyFrom.join(", ")} (403)`]),
    ...(allowFrom === undefined
      ? []
      : [
          allowFrom.length === 0
            ? "denied clients: all (403)"
            : `allowed clients: ${allowFrom.join(", ")} (others: 403)`,
        ]),
    ...(rateLimit === undefined
      ? []
      : [
          `rate limit per client: ${rateLimit.requestsPerSecond} requests a second, ` +
            `burst ${rateLimit.burst}` +
            (exempt.length === 0 ? "" : `; no limit for ${exempt.join(", ")}`),
        ]),
    ...(basicAuth === undefined
      ? []
      : [`basic auth: users in secret ${basicAuth.users.split(" ")[0]} (others: 401)`]),
    ...(externalAuth === undefined
      ? []
      : [`external auth: ${externalAuth.service ?? externalAuth.host}${externalAuth.path}`]),
    ...(cors === undefined ? [] : [`CORS: allowed origins ${cors.allowOrigins.join(", ")}`]),
  ];
}

function balanceSentences({ method, hashBy, affinity, sessionHeader }: Balance): readonly string[] {
  const by = (hashBy ?? []).map((part) => ("text" in part ? part.text : `$${part.variable}`));
  return [
    method === "hash" ? `load balancing: hash of ${by.join("")}` : `load balancing: ${method}`,
    ...(affinity === undefined ? [] : [`session cookie: ${affinity.cookie}`]),
    ...(sessionHeader === undefined ? [] : [`session header: ${sessionHeader}`]),
  ];
}

function canarySentence({
  service,
  header,
  cookie,
  weight = 0,
  weightTotal = 100,
  requestHeaders,
  responseHeaders,
}: Canary): string {
  const value = header?.value ?? (header?.pattern === undefined ? "always" : `/${header.pattern}/`);
  const terms = [
    ...(header === undefined ? [] : [`header ${header.name}: ${value}`]),
    ...(cookie === undefined ? [] : [`cookie ${cookie}=always`]),
    ...(weight === 0 ? [] : [`${weight} of ${weightTotal} of the other requests`]),
  ];
  const changes = [
    ...headerSentences("request", requestHeaders),
    ...headerSentences("response", responseHeaders),
  ];
  return [`canary ${service}: ${terms.join(", or ")}`, ...changes].join("; ");
}

function mirrorSentence({ service, weight, weightTotal = 100 }: Mirror): string {
  const which = weight === undefined ? "every request" : `${weight} of ${weightTotal} requests`;
  return `copies of ${which} are sent to ${service}`;
}

/** `8 MiB`; as it is when it is no whole number of a larger unit. */
function sizeText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let [value, unit] = [bytes, 0];
  while (value % 1024 === 0 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value} ${units[unit]}`;
}
