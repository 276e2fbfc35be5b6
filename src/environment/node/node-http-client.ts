// One HTTP/1.1 exchange over node:http or node:https, from the connection to the last byte of the
// response. The exchange always ends in exactly one way, and leaves neither a listener on the
// caller's signal nor a socket outside the pool.
import { type ClientRequest, type IncomingMessage, request as startPlain } from "node:http";
import { request as startSecure } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { deadPeerMs, type IncomingResponse, type OutgoingRequest } from "../network.ts";
import { errorCode } from "./error-code.ts";
import { socketAddress } from "./node-address.ts";
import { keepAliveDelayMs, type NodeAgents } from "./node-agents.ts";
import { chunksOf, noChunks } from "./node-body.ts";
import { plainHeaders } from "./node-headers.ts";
import { exchangeAborted, exchangeFailure } from "./node-network-errors.ts";
import { nodeTimers } from "./node-timers.ts";

/**
 * Methods that are repeated once when a kept-alive connection turns out to have been closed by the
 * server in the same moment. Only those that change nothing: a repeated PUT or DELETE is harmless
 * to the object, but answers 409 or 404 for the write that did succeed.
 */
const repeatableMethods: readonly string[] = ["GET", "HEAD", "OPTIONS"];

export async function exchange(
  outgoing: OutgoingRequest,
  agents: NodeAgents,
): Promise<IncomingResponse> {
  try {
    return await attempt(outgoing, agents, "pooled");
  } catch (error) {
    if (!(error instanceof ReusedConnectionClosed)) throw error;
    if (mayRepeat(outgoing)) return attempt(outgoing, agents, "single");
    throw error.failure;
  }
}

/** Internal: the failure of an attempt on a connection that had carried an exchange before. */
class ReusedConnectionClosed extends Error {
  readonly failure: Error;

  constructor(failure: Error) {
    super("a reused connection was closed", { cause: failure });
    this.failure = failure;
  }
}

function mayRepeat({ method, body, signal }: OutgoingRequest): boolean {
  if (signal?.aborted) return false;
  return repeatableMethods.includes(method) && (body === undefined || body instanceof Uint8Array);
}

function attempt(
  outgoing: OutgoingRequest,
  agents: NodeAgents,
  connection: "pooled" | "single",
): Promise<IncomingResponse> {
  const { signal } = outgoing;
  const what = describe(outgoing);
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(exchangeAborted(what, signal));
      return;
    }
    let response: IncomingMessage | undefined;
    const request = start(what, outgoing, agents, connection);
    // The request has the error that broke the connection; the response only shows that it was cut
    // off.
    let broken: Error | undefined;
    const failure = (error: Error): Error =>
      signal?.aborted ? exchangeAborted(what, signal) : exchangeFailure(what, broken ?? error);
    const onAbort = (): void => {
      // The response as well: one that has arrived in full but was not read must fail too.
      response?.destroy(failure(new Error("aborted")));
      request.destroy(failure(new Error("aborted")));
    };
    const release = (): void => signal?.removeEventListener("abort", onAbort);
    signal?.addEventListener("abort", onAbort, { once: true });
    const connectTimeoutMs = outgoing.connectTimeoutMs ?? deadPeerMs;
    request.once("socket", (socket) => boundConnecting(request, socket, connectTimeoutMs));
    // The request closes after its response has: nothing can come any more.
    request.once("close", release);
    request.on("error", (error) => {
      release();
      broken = error;
      const failed = failure(error);
      const raced = request.reusedSocket && isClosedByPeer(error) && !signal?.aborted;
      reject(raced ? new ReusedConnectionClosed(failed) : failed);
    });
    request.once("response", (arrived) => {
      response = arrived;
      resolve(received(outgoing, arrived, failure));
    });
    send(request, outgoing.body);
  });
}

/** Throws a `NetworkError` for a URL or a header that cannot be sent at all. */
function start(
  what: string,
  outgoing: OutgoingRequest,
  agents: NodeAgents,
  connection: "pooled" | "single",
): ClientRequest {
  try {
    const url = new URL(outgoing.url);
    const startRequest = url.protocol === "https:" ? startSecure : startPlain;
    return startRequest(url, {
      method: outgoing.method,
      headers: { ...outgoing.headers },
      agent: agents[connection](url.protocol, outgoing.tls),
      ...(outgoing.socketPath === undefined ? {} : { socketPath: outgoing.socketPath }),
    });
  } catch (error) {
    throw exchangeFailure(what, error instanceof Error ? error : new Error(String(error)));
  }
}

/** A server that takes the connection but not the handshake is as dead as one that does neither. */
function boundConnecting(request: ClientRequest, socket: Socket, timeoutMs: number): void {
  if (request.reusedSocket) return;
  socket.setKeepAlive(true, keepAliveDelayMs);
  const cancel = nodeTimers.after(timeoutMs, () => {
    request.destroy(Object.assign(new Error("connecting took too long"), { code: "ETIMEDOUT" }));
  });
  socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", cancel);
  socket.once("close", cancel);
}

function send(request: ClientRequest, body: OutgoingRequest["body"]): void {
  // Node does not frame the body of a DELETE or a GET by itself: its bytes would be read as the
  // beginning of the next request on the connection.
  if (body !== undefined) request.useChunkedEncodingByDefault = true;
  if (body === undefined || body instanceof Uint8Array) {
    request.end(body);
    return;
  }
  sendStream(request, body).catch((error: unknown) => {
    request.destroy(error instanceof Error ? error : new Error(String(error)));
  });
}

/** Asks for the next chunk only when the last was taken, and for none once the exchange is over. */
async function sendStream(request: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of body) {
    if (request.destroyed) return;
    if (!request.write(chunk)) await taken(request);
  }
  if (!request.destroyed) request.end();
}

function taken(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      request.off("drain", settle);
      request.off("close", settle);
      resolve();
    };
    request.on("drain", settle);
    request.on("close", settle);
  });
}

function received(
  outgoing: OutgoingRequest,
  response: IncomingMessage,
  failure: (error: Error) => Error,
): IncomingResponse {
  const common = {
    status: response.statusCode ?? 0,
    headers: plainHeaders(response.headers),
    peer: peerOf(outgoing, response.socket),
  };
  if (!hasBody(outgoing.method, response)) {
    // Read to its end here, for the caller has no reason to: the connection goes back to the pool.
    response.on("error", () => undefined);
    response.resume();
    return { ...common, body: noChunks };
  }
  return { ...common, body: chunksOf(response, failure) };
}

function hasBody(method: string, response: IncomingMessage): boolean {
  if (method === "HEAD" || response.headers["content-length"] === "0") return false;
  return response.statusCode !== 204 && response.statusCode !== 304;
}

function peerOf(outgoing: OutgoingRequest, socket: Socket): string {
  if (outgoing.socketPath !== undefined) return `unix:${outgoing.socketPath}`;
  return socketAddress(socket);
}

/** The server had closed the connection, or did so while our bytes were on their way. */
function isClosedByPeer(error: Error): boolean {
  const code = errorCode(error);
  return code === "ECONNRESET" || code === "EPIPE";
}

/** The query stays out: it can be long, and the path says what was asked. */
function describe({ method, url, socketPath }: OutgoingRequest): string {
  const where = url.replace(/[?#].*$/, "");
  return socketPath === undefined ? `${method} ${where}` : `${method} ${where} (${socketPath})`;
}
