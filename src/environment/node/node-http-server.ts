// An HTTP/1.1 server over node:http or node:https. A response may stay open for ever: the timeouts
// bound only how long a request may take to arrive.
import { createServer, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Log } from "../log.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "../network.ts";
import { hostAndPort } from "./node-address.ts";
import { keepAliveDelayMs } from "./node-agents.ts";
import { bind } from "./node-listen.ts";
import { handleExchange } from "./node-server-exchange.ts";
import { UpgradeResponse } from "./node-upgrade.ts";

/** A request that has not arrived in full by then is given up: it holds a connection for nothing. */
const requestArrivalMs = 300_000;
const headersArrivalMs = 30_000;

/**
 * How long an idle connection is kept. Longer than the idle times of the usual clients and load
 * balancers (60 s), so that the client closes first and no request meets a closing connection.
 */
const idleConnectionMs = 75_000;

/** The request line and all headers: as much as Go's servers take. Long selectors are in there. */
const headersMaxBytes = 1024 * 1024;

export async function listen(
  options: ListenOptions,
  handler: ExchangeHandler,
  log: Log,
): Promise<Listener> {
  const server = makeServer(options.tls);
  const open = new Set<ServerResponse>();
  server.on("request", (message, response) => {
    open.add(response);
    if (!server.listening) response.shouldKeepAlive = false;
    response.once("close", () => {
      open.delete(response);
      if (!server.listening) server.closeIdleConnections();
    });
    // Never rejects: it answers for the handler's failures itself.
    void handleExchange(message, response, handler, log);
  });
  const switched = new Set<Duplex>();
  if (options.upgrades === true) {
    server.on("upgrade", (message, connection, head) => {
      switched.add(connection);
      connection.once("close", () => switched.delete(connection));
      // The failure of a connection shows as its end.
      connection.on("error", () => undefined);
      if (head.length > 0) connection.unshift(head);
      void handleExchange(message, new UpgradeResponse(connection), handler, log, connection);
    });
  }
  await bind(server, options);
  const where = options.socketPath ?? hostAndPort(options.host, options.port);
  server.on("error", (error) => log.error("a listener failed", { where, error }));
  return listenerOf(server, options, open, switched);
}

function makeServer(tls: ListenOptions["tls"]): Server {
  const serverOptions: ServerOptions = {
    requestTimeout: requestArrivalMs,
    headersTimeout: headersArrivalMs,
    maxHeaderSize: headersMaxBytes,
    keepAliveTimeout: idleConnectionMs,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
  };
  if (tls === undefined) return createServer(serverOptions);
  // The protocol is negotiated here: a later HTTP/2 server offers "h2" first.
  const { cert, key } = tls;
  return createSecureServer({ ...serverOptions, cert, key, ALPNProtocols: ["http/1.1"] });
}

/** `open` holds the responses under way, `switched` connections with another protocol. */
function listenerOf(
  server: Server,
  options: ListenOptions,
  open: ReadonlySet<ServerResponse>,
  switched: ReadonlySet<Duplex>,
): Listener {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  let closed: Promise<void> | undefined;
  const stopAccepting = (): Promise<void> => {
    // Tells the clients of answers that have not begun; the others are cut after their answer.
    for (const response of open) response.shouldKeepAlive = false;
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
    });
    return closed;
  };
  return {
    host: options.socketPath ?? options.host,
    port,
    // It resolves when the last connection is gone, which is not awaited here.
    stopAccepting: () => void stopAccepting(),
    close: () => {
      const gone = stopAccepting();
      server.closeAllConnections();
      for (const connection of switched) connection.destroy();
      return gone;
    },
  };
}
