// A small listener beside a long-running command, by default on loopback: health, readiness and
// metrics. Commands add further pages.
import type { Registry } from "prom-client";
import type { ExchangeHandler, Listener, Network } from "../environment/network.ts";
import { isOwnName } from "./own-name.ts";
import { spelledOut } from "./spelled-out.ts";

export interface StatusListenerOptions {
  readonly network: Network;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Names that requests may be for, beside IP addresses, localhost and `host`. */
  readonly hostNames?: readonly string[];
  readonly metrics: Registry;
  readonly readiness: () => ShownReadiness;
  /** Beside /healthz, /readyz and /metrics. */
  readonly pages?: readonly StatusPage[];
}

export interface ShownReadiness {
  /** Undefined when it is ready. */
  readonly problem: string | undefined;
  /** Problems that do not make it unready. */
  readonly notes: readonly string[];
}

export interface StatusPage {
  readonly path: string;
  /** The query behind the path, as shown to people: `?after=N`. */
  readonly query?: string;
  readonly answer: (query: URLSearchParams) => StatusAnswer | Promise<StatusAnswer>;
}

export interface StatusAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export async function startStatusListener(options: StatusListenerOptions): Promise<Listener> {
  const pages = [...standingPages(options), ...(options.pages ?? [])];
  const handle: ExchangeHandler = async (exchange) => {
    const { request } = exchange;
    const { status, contentType, body } = isOwnName(request.headers["host"], options)
      ? request.method === "GET"
        ? await answer(pages, request.target)
        : textAnswer(405, "only GET is allowed here")
      : textAnswer(421, otherName);
    exchange.respond(status, { "content-type": contentType }).end(Buffer.from(body, "utf8"));
  };
  return await options.network.listen(options, handle);
}

const otherName =
  "requests are answered for an IP address, for localhost, and for the names that were given: " +
  "--status-host of lockstep ingress, --metrics-host of lockstep watch";

export function textAnswer(status: number, body: string): StatusAnswer {
  const text = spelledOut(body, "text");
  return { status, contentType: "text/plain; charset=utf-8", body: `${text}\n` };
}

export function jsonAnswer(value: object): StatusAnswer {
  const text = spelledOut(JSON.stringify(value), "json");
  return { status: 200, contentType: "application/json", body: `${text}\n` };
}

/** Any: it is never asked for. */
const base = "http://status";

async function answer(pages: readonly StatusPage[], target: string): Promise<StatusAnswer> {
  if (!URL.canParse(target, base)) return textAnswer(400, "the path is invalid");
  const { pathname, searchParams } = new URL(target, base);
  const page = pages.find(({ path }) => path === pathname);
  if (page !== undefined) return await page.answer(searchParams);
  const known = pages.map(({ path, query = "" }) => `${path}${query}`);
  return textAnswer(404, `available: ${known.join(", ")}`);
}

function standingPages({ readiness, metrics }: StatusListenerOptions): readonly StatusPage[] {
  return [
    { path: "/healthz", answer: () => textAnswer(200, "ok") },
    {
      path: "/readyz",
      answer: () => {
        const { problem, notes } = readiness();
        return textAnswer(
          problem === undefined ? 200 : 503,
          [problem ?? "ok", ...notes].join("\n"),
        );
      },
    },
    {
      path: "/metrics",
      answer: async () => {
        const body = spelledOut(await metrics.metrics(), "metrics");
        return { status: 200, contentType: metrics.contentType, body };
      },
    },
  ];
}
