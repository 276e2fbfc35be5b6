// What a route asks of the proxy, in plain sentences, for people who wonder why it does so.
import type { Balance, Canary, RoutePolicy } from "../decide/route-policy.ts";

export function policySentences(policy: RoutePolicy | undefined): readonly string[] {
  if (policy === undefined) return [];
  return [
    ...redirectSentences(policy),
    ...upstreamSentences(policy),
    ...limitSentences(policy),
    ...(policy.balance === undefined ? [] : balanceSentences(policy.balance)),
    ...(policy.canaries ?? []).map(canarySentence),
  ];
}

function redirectSentences(policy: RoutePolicy): readonly string[] {
  const { httpsRedirect, redirect, hostRedirect, appRoot } = policy;
  return [
    ...(httpsRedirect === undefined
      ? []
      : [`requests without TLS are sent to https (${httpsRedirect})`]),
    ...(redirect === undefined
      ? []
      : [`every request is sent to ${redirect.location} (${redirect.status})`]),
    ...(hostRedirect === undefined
      ? []
      : [`every request is sent to ${hostRedirect.host} (${hostRedirect.status})`]),
    ...(appRoot === undefined ? [] : [`a request for / is sent to ${appRoot} (302)`]),
  ];
}

function upstreamSentences(policy: RoutePolicy): readonly string[] {
  const { rewrite, upstreamHost, forwardedPrefix, protocol } = policy;
  const { verifyUpstream, timeouts, tries } = policy;
  const times = Object.entries(timeouts ?? {}).map(([name, ms]) => {
    return `${name.replace(/Ms$/, "")} ${Number(ms) / 1_000} s`;
  });
  return [
    ...(rewrite === undefined ? [] : [`the endpoint sees the path ${rewrite}`]),
    ...(upstreamHost === undefined ? [] : [`the endpoint sees the host ${upstreamHost}`]),
    ...(forwardedPrefix === undefined
      ? []
      : [`the endpoint is told the prefix ${forwardedPrefix}`]),
    ...(protocol === undefined ? [] : [`the endpoint is spoken to in ${protocol}`]),
    ...(verifyUpstream === true ? ["the endpoint must prove its name to the CA bundle"] : []),
    ...(times.length === 0 ? [] : [`it waits no longer than ${times.join(", ")}`]),
    ...(tries === undefined ? [] : [`at most ${tries} endpoints are tried`]),
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
            ? "bodies may be of any size"
            : `bodies of up to ${sizeText(maxBodyBytes)}`,
        ]),
    ...(streamBodies === true ? ["bodies are passed on as they come"] : []),
    ...(largeHeaders === true ? ["endpoints may answer with 128 KiB of headers"] : []),
    ...(denyFrom === undefined ? [] : [`clients of ${denyFrom.join(", ")} may not come in (403)`]),
    ...(allowFrom === undefined
      ? []
      : [
          allowFrom.length === 0
            ? "nobody may come in (403)"
            : `only clients of ${allowFrom.join(", ")} may come in (403)`,
        ]),
    ...(rateLimit === undefined
      ? []
      : [
          `a client may send ${rateLimit.requestsPerSecond} requests a second, ` +
            `${rateLimit.burst} at once` +
            (exempt.length === 0 ? "" : `, those of ${exempt.join(", ")} as many as they like`),
        ]),
    ...(basicAuth === undefined
      ? []
      : [
          `only who has a password of the secret ${basicAuth.users.split(" ")[0]} may come in (401)`,
        ]),
    ...(externalAuth === undefined
      ? []
      : [
          `${externalAuth.service ?? externalAuth.host}${externalAuth.path} decides who may come in`,
        ]),
    ...(cors === undefined ? [] : [`pages of ${cors.allowOrigins.join(", ")} may use it (CORS)`]),
  ];
}

function balanceSentences({ method, hashBy, affinity }: Balance): readonly string[] {
  const by = (hashBy ?? []).map((part) => ("text" in part ? part.text : `$${part.variable}`));
  return [
    method === "hash"
      ? `endpoints are chosen by ${by.join("")}`
      : `endpoints are chosen by ${method}`,
    ...(affinity === undefined
      ? []
      : [`sessions stay with their endpoint by cookie ${affinity.cookie}`]),
  ];
}

function canarySentence({
  service,
  header,
  cookie,
  weight = 0,
  weightTotal = 100,
}: Canary): string {
  const value = header?.value ?? (header?.pattern === undefined ? "always" : `/${header.pattern}/`);
  const terms = [
    ...(header === undefined ? [] : [`header ${header.name}: ${value}`]),
    ...(cookie === undefined ? [] : [`cookie ${cookie}=always`]),
    ...(weight === 0 ? [] : [`${weight} of ${weightTotal} of the others`]),
  ];
  return `canary ${service}: ${terms.join(", or ")}`;
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
