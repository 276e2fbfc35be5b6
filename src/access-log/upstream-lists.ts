// nginx's lists of what was tried for one request (ngx_http_upstream_module): a comma stands between
// two servers of a group, a colon between two groups after an internal redirect. All lists of one
// request have the same length, with a dash for a missing value.
import type { LoggedTry, TriesLeftOut } from "./access-log-entry.ts";

export interface UpstreamLists {
  readonly addresses: string;
  readonly statuses: string;
  /** In seconds. */
  readonly responseTimes: string;
  readonly headerTimes: string;
  readonly responseLengths: string;
}

/** Kept of a request, the last one among them, which decided; few proxies try more than three. */
const triesMax = 16;

export interface LoggedTries {
  readonly tries: readonly LoggedTry[];
  readonly leftOut: TriesLeftOut | undefined;
}

/** The placeholder in ingress-nginx's configuration for a missing endpoint. */
const placeholder = "0.0.0.1";

/** The status nginx logs for an endpoint that refuses, breaks off or does not answer. */
const proxyMadeStatuses = new Set([502, 504]);

export function triesOf(lists: UpstreamLists): LoggedTries {
  const addresses = elements(lists.addresses);
  const firstGroup = elements(lists.addresses.split(" : ", 1)[0] ?? "").length;
  const aligned = (text: string): readonly string[] => {
    const list = text.trim() === "-" ? ["-"] : elements(text);
    return list.length === addresses.length ? list : [];
  };
  const statuses = aligned(lists.statuses);
  const times = aligned(lists.responseTimes);
  const headers = aligned(lists.headerTimes);
  const lengths = aligned(lists.responseLengths);
  const lastKept = Math.min(triesMax, addresses.length) - 1;
  const kept = [...addresses.keys()].filter(
    (index) => index < lastKept || index === addresses.length - 1,
  );
  const tries = kept.flatMap((index): LoggedTry[] => {
    const place = endpointAddress(addresses[index] ?? "");
    if (place === undefined || place.address === placeholder) return [];
    const status = statusOf(statuses[index]);
    const answered = isAnswered(status, headers[index], lengths[index]);
    return [
      {
        ...place,
        status,
        durationMs: secondsToMs(times[index]),
        ...(answered !== undefined && { answered }),
        ...(index >= firstGroup && { isRedirected: true }),
      },
    ];
  });
  const count = addresses.length - kept.length;
  const leftOutMs = times.slice(lastKept, lastKept + count).map((time) => secondsToMs(time) ?? 0);
  const durationMs = leftOutMs.reduce((sum, ms) => sum + ms, 0);
  return { tries, leftOut: count === 0 ? undefined : { count, durationMs } };
}

/**
 * Whether the list says that no endpoint was tried, and not something that is no endpoint's
 * address.
 */
export function namesNoEndpoint(addresses: string): boolean {
  return elements(addresses).every((text) => endpointAddress(text)?.address === placeholder);
}

/** `10.0.0.1:80`, `[::1]:80` or a URL of one; undefined for a unix socket or the name of a group. */
export function endpointAddress(
  text: string,
): { readonly address: string; readonly port: number } | undefined {
  const match =
    /^(?:https?:\/\/)?(?:(\d{1,3}(?:\.\d{1,3}){3})|\[([0-9a-fA-F:.]{2,45})\]):(\d{1,5})\/?$/.exec(
      text,
    );
  const address = match?.[1] ?? canonicalAddress(match?.[2] ?? "");
  const port = Number(match?.[3]);
  return address === undefined || port > 65_535 ? undefined : { address, port };
}

/** As Kubernetes writes an address of IPv6; undefined when it is none. */
function canonicalAddress(text: string): string | undefined {
  const [, mapped] = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(text) ?? [];
  const url = `http://[${text}]/`;
  if (mapped !== undefined || !URL.canParse(url)) return mapped;
  return new URL(url).hostname.slice(1, -1);
}

/** Undefined for a dash, for nothing and for more than thirty years, which no request takes. */
export function secondsToMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}(?:\.\d+)?$/.test(text)) return undefined;
  return Math.round(Number(text) * 1_000);
}

export function statusOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{3}$/.test(text) ? Number(text) : undefined;
}

function elements(text: string): readonly string[] {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "-") return [];
  // A redirect without a further try leaves a colon at the end.
  return trimmed.replace(/ :$/, "").split(/, | : |,/);
}

/** An endpoint's own 502 came with a header, and almost always with a body. */
function isAnswered(
  status: number | undefined,
  headerTime: string | undefined,
  length: string | undefined,
): boolean | undefined {
  if (status !== undefined && !proxyMadeStatuses.has(status)) return true;
  if (headerTime !== undefined) return headerTime !== "-";
  if (length !== undefined && length !== "-") return length !== "0";
  return undefined;
}
