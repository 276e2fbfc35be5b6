// The port on which a component shows its metrics and its health, as every Kubernetes component has
// one.
import type { Registry } from "prom-client";
import { exposition } from "../../components/exposition.ts";
import type { Listener, Network, ServerExchange } from "../../environment/network.ts";

export interface MetricsListenerOptions {
  readonly network: Network;
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
}

export function listenForMetrics(options: MetricsListenerOptions): Promise<Listener> {
  const { network, host, port, registry } = options;
  return network.listen({ host, port }, (exchange) => answer(exchange, registry));
}

async function answer(exchange: ServerExchange, registry: Registry): Promise<void> {
  const { method, target } = exchange.request;
  const [path] = target.split("?", 1);
  const text = { "content-type": "text/plain; charset=utf-8" };
  if (method !== "GET") {
    exchange.respond(405, text).end(Buffer.from("method not allowed\n"));
  } else if (path === "/metrics") {
    const body = Buffer.from(await exposition(registry));
    exchange.respond(200, { "content-type": registry.contentType }).end(body);
  } else if (path === "/healthz") {
    exchange.respond(200, text).end(Buffer.from("ok"));
  } else {
    exchange.respond(404, text).end(Buffer.from("404 page not found\n"));
  }
}
