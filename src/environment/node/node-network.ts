// The network over real sockets: HTTP/1.1 through node:http and node:https, with connections kept alive,
// and HTTP/2 where a listener asks for it.
import type { Log } from "../log.ts";
import type { Network } from "../network.ts";
import { NodeAgents } from "./node-agents.ts";
import { exchange } from "./node-http-client.ts";
import { listen } from "./node-http-server.ts";
import { listenHttp2 } from "./node-http2-server.ts";

export function nodeNetwork({ log }: { readonly log: Log }): Network {
  const agents = new NodeAgents();
  return {
    request: (request) => exchange(request, agents),
    listen: (options, handler) =>
      options.http2 === true ? listenHttp2(options, handler, log) : listen(options, handler, log),
  };
}
