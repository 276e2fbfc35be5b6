// Where a proxy is and of which kind, as people write it: `ingress-nginx=http://127.0.0.1:10246`,
// `lockstep=…`, or the address alone, which is asked what it is.
import type { Environment } from "../../environment/environment.ts";
import { readBackends } from "./backends.ts";
import { backendsPath } from "./ingress-nginx-reader.ts";
import { readJournal } from "./lockstep-answers.ts";
import { askProxy, jsonOf, type ProxyAnswer, type ProxyRequestOptions } from "./proxy-request.ts";

export const proxyKinds = ["lockstep", "ingress-nginx"] as const;

export type ProxyKind = (typeof proxyKinds)[number];

export interface ProxyAddress {
  /** As it is shown: `host:port`. */
  readonly name: string;
  /** Without a path. */
  readonly url: string;
  /** Undefined when it has to be asked. */
  readonly kind: ProxyKind | undefined;
}

export class ProxyAddressError extends Error {
  override readonly name = "ProxyAddressError";
  readonly code = "PROXY_ADDRESS";
}

const forms =
  "use lockstep=http://HOST:PORT with the status port of a Lockstep replica, " +
  "ingress-nginx=http://HOST:10246 with a port-forward to an ingress-nginx pod, or only the URL";

/** Throws a `ProxyAddressError` that says what would be right. */
export function readProxyAddress(text: string): ProxyAddress {
  const [, kindName, rest = ""] = /^(?:([a-z][a-z-]*)=)?(.*)$/s.exec(text) ?? [];
  const kind = proxyKinds.find((one) => one === kindName);
  if (kindName !== undefined && kind === undefined) {
    throw new ProxyAddressError(`${text}: unknown kind of proxy ${kindName}; ${forms}`);
  }
  const url = parsedUrl(/^https?:\/\//.test(rest) ? rest : `http://${rest}`);
  if (url === undefined || url.pathname !== "/" || url.search !== "" || url.username !== "") {
    throw new ProxyAddressError(`${text} is not the address of a proxy; ${forms}`);
  }
  return { name: url.host, url: url.origin, kind };
}

export interface DetectOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  readonly signal: AbortSignal;
}

/** Asks the proxy what it is; throws what came of it when it cannot be asked or is neither. */
export async function detectProxyKind(url: string, options: DetectOptions): Promise<ProxyKind> {
  const journalUrl = `${url}/routed?after=${Number.MAX_SAFE_INTEGER}`;
  const [backends, journal] = await Promise.all([
    answerOf({ ...options, url: `${url}${backendsPath}` }),
    answerOf({ ...options, url: journalUrl }),
  ]);
  if (backends instanceof Error && journal instanceof Error) {
    const message = `${url} answers neither at ${backendsPath} (ingress-nginx) nor at /routed`;
    throw new ProxyAddressError(`${message} (Lockstep): ${backends.message}`, {
      cause: backends,
    });
  }
  if (!(backends instanceof Error) && isOfBackends(backends)) return "ingress-nginx";
  try {
    if (journal instanceof Error) throw journal;
    readJournal(jsonOf(journal, journalUrl));
    return "lockstep";
  } catch (cause) {
    const message = `${url} is neither the status port of a Lockstep replica nor ingress-nginx`;
    throw new ProxyAddressError(`${message}; ${forms}`, { cause });
  }
}

/** The proxy's answer, or the error. */
async function answerOf(request: ProxyRequestOptions): Promise<ProxyAnswer | Error> {
  try {
    return await askProxy(request);
  } catch (error) {
    request.signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isOfBackends({ status, body }: ProxyAnswer): boolean {
  return status === 200 && readBackends(body.toString("utf8")) !== undefined;
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // The caller says what would be right.
    return undefined;
  }
}
