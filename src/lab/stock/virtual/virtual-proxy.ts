// How the modelled nginx handles one request: up to three tries, each at the next peer, after an
// error or a timeout; a request that may have reached a peer is repeated only when that is harmless.
// The network shows no connections, so the time to connect is taken until the answer's headers: a
// pod that needs longer than the connect timeout for them counts as one that does not answer.
import type { Environment } from "../../../environment/environment.ts";
import {
  type IncomingResponse,
  NetworkError,
  type ServerExchange,
} from "../../../environment/network.ts";
import { answerLine, relayAnswer } from "../../traffic/relay.ts";
import { upstreamHeader } from "../../traffic/upstreams.ts";
import { ingressNginx } from "../ingress-nginx.ts";
import type { StockEndpoint } from "../stock-configuration.ts";

export interface ProxyOptions extends Pick<Environment, "timers" | "network"> {
  /** The next peer of the backend that was chosen; undefined when it has none. */
  readonly pick: () => StockEndpoint | undefined;
}

/** nginx's own list (proxy_next_upstream): POST, LOCK and PATCH are not in it. */
const idempotentMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);

/** client_max_body_size, 1 MiB by default; a body is read before it is sent on, as nginx does. */
const maxBodyBytes = 1_048_576;

export async function proxyRequest(exchange: ServerExchange, options: ProxyOptions): Promise<void> {
  const body = await readBody(exchange);
  if (body === undefined) {
    answerLine(exchange, 413, "413 Request Entity Too Large");
    return;
  }
  const tried: string[] = [];
  let last: "error" | "timeout" = "error";
  for (let tries = 0; tries < ingressNginx.upstreamTries; tries += 1) {
    const peer = options.pick();
    if (peer === undefined) break;
    tried.push(`${peer.address}:${peer.port}`);
    const outcome = await tryPeer(exchange, peer, body, options);
    if (exchange.request.closed.aborted) return;
    if (outcome.kind === "answered") {
      await relayAnswer(exchange, outcome.response, { [upstreamHeader]: tried.join(", ") });
      return;
    }
    last = outcome.kind;
    if (outcome.mayHaveArrived && !idempotentMethods.has(exchange.request.method)) break;
  }
  answerFailure(exchange, tried, last);
}

function answerFailure(
  exchange: ServerExchange,
  tried: readonly string[],
  last: "error" | "timeout",
): void {
  const added = { [upstreamHeader]: tried.join(", ") };
  if (tried.length === 0) answerLine(exchange, 503, "503 Service Temporarily Unavailable");
  else if (last === "timeout") answerLine(exchange, 504, "504 Gateway Time-out", added);
  else answerLine(exchange, 502, "502 Bad Gateway", added);
}

type Outcome =
  | { readonly kind: "answered"; readonly response: IncomingResponse }
  | { readonly kind: "error" | "timeout"; readonly mayHaveArrived: boolean };

async function tryPeer(
  exchange: ServerExchange,
  peer: StockEndpoint,
  body: Uint8Array,
  { network, timers }: ProxyOptions,
): Promise<Outcome> {
  const { method, target, headers, closed } = exchange.request;
  const patience = new AbortController();
  const cancel = timers.after(ingressNginx.readTimeoutMs, () => {
    patience.abort(new Error("no answer within the read timeout"));
  });
  try {
    const response = await network.request({
      method,
      url: `http://${hostOf(peer.address)}:${peer.port}${target}`,
      headers,
      ...(body.length === 0 ? {} : { body }),
      connectTimeoutMs: ingressNginx.connectTimeoutMs,
      signal: AbortSignal.any([closed, patience.signal]),
    });
    return { kind: "answered", response };
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    const isTimeout = patience.signal.aborted || error.code === "DEAD_PEER";
    return { kind: isTimeout ? "timeout" : "error", mayHaveArrived: error.code === "RESET" };
  } finally {
    cancel();
  }
}

function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Undefined when it is longer than allowed. */
async function readBody({ request }: ServerExchange): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
