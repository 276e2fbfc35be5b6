// The line client-go writes when a request had to wait for the client's own rate limit, in the words
// of every version. It shows the wait of one request for its token: about workers ÷ qps. How long
// the change had waited in the controller's queue before that, no line shows.
import { parseGoDuration } from "../../environment/go-duration.ts";
import type { KlogLine } from "./klog.ts";

export interface ThrottledRequest {
  readonly waitMs: number;
  readonly verb: string;
  readonly url: string;
}

/** Up to 1.20. */
const took = /^Throttling request took (\S+), request: ([A-Z]+):(.+)$/;

/**
 * 1.21 to 1.32. The second form, for a retried request, names the reason of the retry instead of the
 * limit, but the time it gives is the wait for the limit all the same.
 */
const waited = [
  /^Waited for (\S+) due to client-side throttling, not priority and fairness, request: ([A-Z]+):(.+)$/,
  /^Waited for ([^\s,]+), .* - request: ([A-Z]+):(.+)$/,
];

/** Since 1.33. */
const structuredMessage = "Waited before sending request";

/** Undefined for any other line. */
export function parseThrottlingLine(line: KlogLine): ThrottledRequest | undefined {
  if (line.message === structuredMessage) {
    return request(line.values.get("delay"), line.values.get("verb"), line.values.get("URL"));
  }
  for (const form of [took, ...waited]) {
    const found = form.exec(line.message);
    if (found !== null) return request(found[1], found[2], found[3]);
  }
  return undefined;
}

/** Whether the request was about published endpoints. */
export function isEndpointsRequest({ url }: ThrottledRequest): boolean {
  return /\/(?:endpoints|endpointslices)(?:[/?]|$)/.test(url);
}

function request(
  delay: string | undefined,
  verb: string | undefined,
  url: string | undefined,
): ThrottledRequest | undefined {
  const waitMs = delay === undefined ? undefined : parseGoDuration(delay);
  if (waitMs === undefined || verb === undefined || url === undefined) return undefined;
  return { waitMs, verb, url };
}
