// The network over real sockets: HTTP/1.1 through node:http and node:https, with connections kept
// alive. HTTP/2 would take the place of `exchange` and `listen` here, chosen by what TLS negotiates;
// nothing above this line knows the protocol's version.
import type { Log } from "../log.ts";
import type { Network } from "../network.ts";
import { NodeAgents } from "./node-agents.ts";
import { exchange } from "./node-http-client.ts";
import { listen } from "./node-http-server.ts";

export function nodeNetwork({ log }: { readonly log: Log }): Network {
  const agents = new NodeAgents();
  return {
    request: (request) => exchange(request, agents),
    listen: (options, handler) => listen(options, handler, log),
  };
}
