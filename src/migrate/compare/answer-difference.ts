// How two answers to one request differ. Headers that are new with each answer are noise: they are
// named and left out. Pure.
import type { Answer } from "./answer.ts";
import type { PlannedRequest } from "./planned-request.ts";

export interface AnswerDifference {
  /** `status`, `body`, `failure`, or the name of a header. */
  readonly what: string;
  readonly old: string;
  readonly new: string;
}

export interface ComparedAnswers {
  readonly differences: readonly AnswerDifference[];
  /** Names of what differs and is left out. */
  readonly noise: readonly string[];
}

/** Compared unless the user says otherwise: they change what a browser or a cache does. */
export const comparedHeaders: readonly string[] = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-security-policy",
  "content-type",
  "location",
  "referrer-policy",
  "refresh",
  "set-cookie",
  "strict-transport-security",
  "www-authenticate",
  "x-content-type-options",
  "x-frame-options",
];

const none = "(none)";

export interface CompareChoice {
  /** In lower case. */
  readonly headers: ReadonlySet<string>;
  /** Also of redirects and errors, which proxies often make themselves. */
  readonly allBodies: boolean;
}

export function compareAnswers(
  { host, method }: PlannedRequest,
  old: Answer,
  now: Answer,
  { headers, allBodies }: CompareChoice,
): ComparedAnswers {
  if (old.kind === "failed" || now.kind === "failed") return compareFailures(old, now);
  const differences: AnswerDifference[] = [];
  const noise = new Set<string>();
  if (old.status !== now.status) {
    differences.push({ what: "status", old: String(old.status), new: String(now.status) });
  }
  const names = new Set([...Object.keys(old.headers), ...Object.keys(now.headers)]);
  for (const name of [...names].sort()) {
    const [one, other] = [old.headers[name], now.headers[name]];
    if (one === other) continue;
    const isSame = headers.has(name) && meaningOf(name, one, host) === meaningOf(name, other, host);
    if (!headers.has(name)) noise.add(name);
    else if (isSame) noise.add(noiseIn(name));
    else
      differences.push({ what: name, old: shownHeader(name, one), new: shownHeader(name, other) });
  }
  const isBody = method === "GET" && (old.hash !== now.hash || old.isCut !== now.isCut);
  if (isBody && (allBodies || (old.status < 300 && now.status < 300))) {
    differences.push({ what: "body", old: bodyText(old), new: bodyText(now) });
  } else if (isBody) noise.add("bodies of redirects and errors");
  return { differences, noise: [...noise] };
}

function compareFailures(old: Answer, now: Answer): ComparedAnswers {
  const [one, other] = [outcome(old), outcome(now)];
  const differences = one === other ? [] : [{ what: "failure", old: one, new: other }];
  return { differences, noise: [] };
}

function outcome(answer: Answer): string {
  return answer.kind === "failed" ? `no answer (${answer.code})` : `status ${answer.status}`;
}

/** The part of a header that must be the same; cookies have new values each time. */
function meaningOf(name: string, value: string | undefined, host: string): string {
  if (value === undefined) return none;
  if (name === "set-cookie") return cookieNames(value).join(", ");
  if (name === "location") return absolute(value, host);
  return value;
}

function noiseIn(name: string): string {
  return name === "set-cookie" ? "cookie values" : `form of ${name}`;
}

function shownHeader(name: string, value: string | undefined): string {
  if (value === undefined) return none;
  return name === "set-cookie" ? cookieNames(value).join(", ") : value;
}

/** The start of each cookie; a date has a comma, but no equals sign before the next semicolon. */
function cookieNames(value: string): readonly string[] {
  const found = value.matchAll(/(?:^|,\s*)([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})=/g);
  return [...found].map(([, name = ""]) => name).sort();
}

/** A path, and the same path with scheme and host, lead to the same place. */
function absolute(value: string, host: string): string {
  try {
    const url = new URL(value, `http://${host}/`);
    return url.host === host
      ? `${url.pathname}${url.search}${url.hash} ${schemeOf(value)}`
      : url.href;
  } catch {
    return value;
  }
}

/** A redirect to https is another one than a redirect within the scheme. */
function schemeOf(value: string): string {
  return value.startsWith("https://") ? "https" : "";
}

function bodyText(answer: Extract<Answer, { kind: "answered" }>): string {
  const size = `${answer.bytes}${answer.isCut ? " or more" : ""} bytes`;
  return `${size}, sha256 ${answer.hash.slice(0, 12)}`;
}
