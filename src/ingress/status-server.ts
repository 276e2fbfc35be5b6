// The ingress's own small listener, on loopback unless told otherwise: health, metrics, the truth
// table and the journal of what was routed when.
import type { Registry } from "prom-client";
import type { ExchangeHandler, Listener, Network } from "../environment/network.ts";
import type { Explanation, Question } from "./explanation.ts";
import type { Readiness } from "./readiness.ts";
import type { RoutedJournal } from "./routed-journal.ts";
import type { ServiceReport } from "./service-report.ts";

export interface StatusServerOptions {
  readonly network: Network;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly metrics: Registry;
  readonly journal: RoutedJournal;
  readonly state: () => object;
  readonly readiness: () => Readiness;
  readonly explain: (question: Question) => Promise<Explanation>;
  /** Of `namespace/name`, or of one port of it. */
  readonly endpoints: (service: string) => Promise<ServiceReport>;
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
      const { problem, notes } = options.readiness();
      return text(problem === undefined ? 200 : 503, [problem ?? "ok", ...notes].join("\n"));
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
    case "/explain":
      return json(await options.explain(questionOf(searchParams)));
    case "/endpoints":
      return json(await options.endpoints(searchParams.get("service") ?? ""));
    default:
      return text(404, `there are ${known.join(", ")}`);
  }
}

const known = [
  "/healthz",
  "/readyz",
  "/metrics",
  "/state",
  "/routed?after=N",
  "/explain?host=H&path=P",
  "/endpoints?service=NAMESPACE/NAME",
];

/** `header` is `name: value` and may come several times. */
function questionOf(parameters: URLSearchParams): Question {
  const headers = parameters.getAll("header").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    host: (parameters.get("host") ?? "").toLowerCase(),
    path: parameters.get("path") ?? "/",
    isSecure: parameters.get("secure") === "true",
    headers: Object.fromEntries(headers),
  };
}

function text(status: number, body: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${body}\n` };
}

function json(value: object): Answer {
  return { status: 200, contentType: "application/json", body: `${JSON.stringify(value)}\n` };
}
