// An HTTP/2 server without TLS over node:http2, for clients that begin with HTTP/2 unasked, as those of
// gRPC do.
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Log } from "../log.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "../network.ts";
import { hostAndPort } from "./node-address.ts";
import { bind } from "./node-listen.ts";
import { handleExchange } from "./node-server-exchange.ts";

export async function listenHttp2(
  options: ListenOptions,
  handler: ExchangeHandler,
  log: Log,
): Promise<Listener> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (!server.listening) session.close();
  });
  // A connection that fails ends its exchanges; the error itself says no more.
  server.on("sessionError", () => undefined);
  server.on("request", (message, response) => {
    // Never rejects: it answers for the handler's failures itself.
    void handleExchange(message, response, handler, log);
  });
  await bind(server, options);
  const where = options.socketPath ?? hostAndPort(options.host, options.port);
  server.on("error", (error) => log.error("a listener failed", { where, error }));
  return listenerOf(server, options, sessions);
}

function listenerOf(
  server: Http2Server,
  options: ListenOptions,
  sessions: ReadonlySet<ServerHttp2Session>,
): Listener {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  let closed: Promise<void> | undefined;
  const stopAccepting = (): Promise<void> => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
    });
    // Each ends with its last exchange.
    for (const session of sessions) session.close();
    return closed;
  };
  return {
    host: options.socketPath ?? options.host,
    port,
    stopAccepting: () => void stopAccepting(),
    close: () => {
      const gone = stopAccepting();
      for (const session of sessions) session.destroy();
      return gone;
    },
  };
}
