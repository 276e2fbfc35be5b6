// The ingress's own small listener, on loopback unless told otherwise: health, metrics, the truth
// table and the journal of what was routed when.
import type { Registry } from "prom-client";
import type { ExchangeHandler, Listener, Network } from "../environment/network.ts";
import type { RoutedJournal } from "./routed-journal.ts";

export interface StatusServerOptions {
  readonly network: Network;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly metrics: Registry;
  readonly journal: RoutedJournal;
  readonly state: () => object;
  /** Undefined when the proxy serves by a decision of ours; else what is missing. */
  readonly notReadyBecause: () => string | undefined;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export async function startStatusServer(options: StatusServerOptions): Promise<Listener> {
  const handle: ExchangeHandler = async (exchange) => {
    const { request } = exchange;
    const { status, contentType, body } =
      request.method === "GET"
        ? await answer(options, request.target)
        : text(405, "only GET is answered here");
    exchange.respond(status, { "content-type": contentType }).end(Buffer.from(body, "utf8"));
  };
  return await options.network.listen(options, handle);
}

async function answer(options: StatusServerOptions, target: string): Promise<Answer> {
  const { pathname, searchParams } = new URL(target, "http://status");
  switch (pathname) {
    case "/healthz":
      return text(200, "ok");
    case "/readyz": {
      const reason = options.notReadyBecause();
      return reason === undefined ? text(200, "ok") : text(503, reason);
    }
    case "/metrics": {
      const body = await options.metrics.metrics();
      return { status: 200, contentType: options.metrics.contentType, body };
    }
    case "/state":
      return json(options.state());
    case "/routed": {
      const after = Number(searchParams.get("after") ?? 0);
      if (!Number.isSafeInteger(after) || after < 0) return text(400, "after is a whole number");
      return json({ entries: options.journal.after(after) });
    }
    default:
      return text(404, "there are /healthz, /readyz, /metrics, /state and /routed?after=N");
  }
}

function text(status: number, body: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${body}\n` };
}

function json(value: object): Answer {
  return { status: 200, contentType: "application/json", body: `${JSON.stringify(value)}\n` };
}
