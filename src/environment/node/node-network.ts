// The network over real sockets: HTTP/1.1 through node:http and node:https, with connections kept
// alive. HTTP/2 would take the place of `exchange` and `listen` here, chosen by what TLS negotiates;
// nothing above this line knows the protocol's version.
import type { Log } from "../log.ts";
import { deadPeerMs, type Network } from "../network.ts";
import { NodeAgents } from "./node-agents.ts";
import { exchange } from "./node-http-client.ts";
import { listen } from "./node-http-server.ts";

export interface NodeNetworkOptions {
  readonly log: Log;
  /** How long a connection attempt may take; `deadPeerMs` unless given. */
  readonly connectTimeoutMs?: number;
}

export function nodeNetwork({ log, connectTimeoutMs }: NodeNetworkOptions): Network {
  const settings = {
    agents: new NodeAgents(),
    connectTimeoutMs: connectTimeoutMs ?? deadPeerMs,
  };
  return {
    request: (request) => exchange(request, settings),
    listen: (options, handler) => listen(options, handler, log),
  };
}
