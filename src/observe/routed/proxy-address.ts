// Where a proxy is and of which kind, as people write it: `ingress-nginx=http://127.0.0.1:10246`,
// `lockstep=…`, or the address alone, which is asked what it is.
import { readJournal } from "./lockstep-answers.ts";
import { afterAll, journalPath } from "./lockstep-reader.ts";
import { isPolledKind, type PolledKind, polledFormats } from "./polled-format.ts";
import { type AskProxy, jsonOf, type ProxyAnswer, ProxyAnswerError } from "./proxy-request.ts";

export type ProxyKind = "lockstep" | PolledKind;

const proxyKinds: readonly ProxyKind[] = [
  "lockstep",
  "ingress-nginx",
  "envoy",
  "traefik",
  "haproxy",
];

export interface ProxyAddress {
  /** As it is shown: `host:port`. */
  readonly name: string;
  /** Without a slash at its end. */
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
  "ingress-nginx=…, envoy=…, traefik=… or haproxy=http://HOST:PORT with a port-forward to the " +
  "admin port of a pod, only the URL, or auto";

/** Their listeners can be at a path: stats uri of HAProxy, api.basePath of Traefik. */
const kindsWithPath: ReadonlySet<string> = new Set<ProxyKind>(["envoy", "traefik", "haproxy"]);

/** Throws a `ProxyAddressError` that says what would be right. */
export function readProxyAddress(text: string): ProxyAddress {
  const [, kindName, rest = ""] = /^(?:([a-z][a-z-]*)=)?(.*)$/s.exec(text) ?? [];
  const kind = proxyKinds.find((one) => one === kindName);
  if (kindName !== undefined && kind === undefined) {
    throw new ProxyAddressError(`${text}: unknown kind of proxy ${kindName}; ${forms}`);
  }
  const url = parsedUrl(/^https?:\/\//.test(rest) ? rest : `http://${rest}`);
  const isWithPath = url !== undefined && url.pathname !== "/";
  const isPathAllowed = kind !== undefined && kindsWithPath.has(kind);
  if (
    url === undefined ||
    (isWithPath && !isPathAllowed) ||
    url.search !== "" ||
    url.hash !== "" ||
    url.username !== ""
  ) {
    throw new ProxyAddressError(`${text} is not the address of a proxy; ${forms}`);
  }
  const path = url.pathname.replace(/\/+$/, "");
  return { name: `${url.host}${path}`, url: `${url.origin}${path}`, kind };
}

/** Asks the proxy what it is; throws what came of it when it cannot be asked or is none of them. */
export async function detectProxyKind(
  url: string,
  ask: AskProxy,
  signal: AbortSignal,
): Promise<ProxyKind> {
  const answers = await Promise.all(
    proxyKinds.map(async (kind) => ({ kind, answer: await answerOf(kind, ask, signal) })),
  );
  const found = answers.find(({ kind, answer }) => !(answer instanceof Error) && is(kind, answer));
  if (found !== undefined) return found.kind;
  const [first] = answers;
  if (answers.every(({ answer }) => answer instanceof Error) && first?.answer instanceof Error) {
    const { answer: cause } = first;
    throw new ProxyAddressError(`${url} does not answer: ${cause.message}`, { cause });
  }
  throw new ProxyAddressError(
    `${url} answers as none of ${proxyKinds.join(", ")}: give the kind for the reason; ${forms}`,
  );
}

/** The proxy's answer, or the error. */
async function answerOf(
  kind: ProxyKind,
  ask: AskProxy,
  signal: AbortSignal,
): Promise<ProxyAnswer | Error> {
  try {
    return await ask(isPolledKind(kind) ? polledFormats[kind].path : journalPath(afterAll), signal);
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

function is(kind: ProxyKind, answer: ProxyAnswer): boolean {
  if (answer.status !== 200) return false;
  if (isPolledKind(kind))
    return polledFormats[kind].read(answer.body.toString("utf8")) !== undefined;
  try {
    readJournal(jsonOf(answer));
    return true;
  } catch (error) {
    if (error instanceof ProxyAnswerError) return false;
    throw error;
  }
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // The caller says what would be right.
    return undefined;
  }
}
