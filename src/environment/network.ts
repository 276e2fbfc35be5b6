// The network at the level of one HTTP exchange: a request, a status with headers, and bodies that
// arrive in chunks. Sockets stay below this line, so the same client and server code runs over TCP
// and over the simulated network. `network.contract.ts` holds what both must do.

/** Header names are lower case; repeated headers are joined with ", ". */
export type Headers = Readonly<Record<string, string>>;

/**
 * A connection whose peer stops acknowledging fails with code `DEAD_PEER` within this time, even
 * when nothing is being sent (TCP keep-alive). So while a response body is open and has not
 * failed, its connection was proved alive within the last `deadPeerMs`.
 */
export const deadPeerMs = 15_000;

export interface ClientTls {
  /** PEM bundle to verify the server with; the system's when absent. */
  readonly ca?: string;
  /** PEM client certificate and key. */
  readonly cert?: string;
  readonly key?: string;
  /** Name to verify instead of the URL's host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface OutgoingRequest {
  readonly method: string;
  /** Absolute: `https://host:port/path?query`. */
  readonly url: string;
  /** Connect to this unix socket instead of the URL's host and port. */
  readonly socketPath?: string;
  readonly headers?: Headers;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly tls?: ClientTls;
  /** Bounds the connection attempt, which then fails with `DEAD_PEER`; `deadPeerMs` unless given. */
  readonly connectTimeoutMs?: number;
  /** Aborting it ends the exchange at any stage, the body included. */
  readonly signal?: AbortSignal;
}

export interface IncomingResponse {
  readonly status: number;
  readonly headers: Headers;
  /**
   * Chunks in order. Not asking for the next one pauses the sender (back-pressure); leaving the
   * loop early closes the exchange. Fails with a `NetworkError` if the connection breaks.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The address that answered, `host:port`. */
  readonly peer: string;
}

export interface IncomingRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** The client's address. */
  readonly peer: string;
  /** Aborts when the exchange is over: answered in full, or the client or the listener went away. */
  readonly closed: AbortSignal;
}

export interface BodyWriter {
  /** Queues bytes; never blocks. Writing after the client has gone is ignored. */
  write(bytes: Uint8Array): void;
  /** Bytes queued here that the client has not read yet: the cost of a slow reader. */
  readonly pendingBytes: number;
  /** Resolves when little is pending, or the exchange is over. */
  drained(): Promise<void>;
  /** Clients of HTTP/2 get the trailers; for others they may be lost. */
  end(bytes?: Uint8Array, trailers?: Headers): void;
  /** Breaks the connection: the client sees a reset, not an end. */
  abort(): void;
}

export interface ServerExchange {
  readonly request: IncomingRequest;
  /** Sends status and headers; may be called once. */
  respond(status: number, headers?: Headers): BodyWriter;
  /** Breaks the connection, answered or not: the client sees a reset. Idempotent. */
  abort(): void;
}

/**
 * A handler that throws or rejects before responding gives 500 and an error line in the log; one
 * that does so later breaks the connection, for an end would make half an answer look whole.
 */
export type ExchangeHandler = (exchange: ServerExchange) => void | Promise<void>;

export interface ListenOptions {
  /** Address to bind, `127.0.0.1` for example; in a simulation the host's own name. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Listen on this unix socket (mode 0600) instead of host and port. */
  readonly socketPath?: string;
  /** PEM; plain HTTP when absent. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Without TLS: HTTP/2 and nothing else. A simulation makes no difference. */
  readonly http2?: boolean;
  /**
   * A request for another protocol may be answered with 101: then both bodies are the bytes that follow. Without
   * it, such a request is one as any other. A simulation has none.
   */
  readonly upgrades?: boolean;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /**
   * Refuses new connections from now on; exchanges under way go on, and each connection ends with
   * its last one. Idempotent; `close` still ends the rest.
   */
  stopAccepting(): void;
  /** Stops listening and breaks every open exchange. Idempotent. */
  close(): Promise<void>;
}

export interface Network {
  /** Resolves when status and headers have arrived. Rejects with a `NetworkError`. */
  request(request: OutgoingRequest): Promise<IncomingResponse>;
  listen(options: ListenOptions, handler: ExchangeHandler): Promise<Listener>;
}

export type NetworkErrorCode =
  /** No process listens there. */
  | "REFUSED"
  /** The connection broke while in use. */
  | "RESET"
  /** The peer stopped acknowledging (see `deadPeerMs`) or never answered the connection attempt. */
  | "DEAD_PEER"
  /** The host's name or address is unknown. */
  | "UNKNOWN_HOST"
  /** The certificates do not fit. */
  | "TLS"
  /** The address to listen on is taken. */
  | "ADDRESS_IN_USE"
  /** The caller's signal aborted; `cause` is its reason. */
  | "ABORTED"
  /** The peer took the connection and answered with something that is not HTTP. */
  | "NOT_HTTP"
  /** Anything else not named above; see `cause`. */
  | "FAILED";

export class NetworkError extends Error {
  override readonly name = "NetworkError";
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
