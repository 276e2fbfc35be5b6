// The lines about requests in the log of an API server: a trace of each slow request and, at higher
// verbosity, a line for each request (k8s.io/apiserver/pkg/server/httplog).

import { type Klog, structured } from "../../components/klog.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { goDuration } from "../../environment/go-duration.ts";
import { type Random, randomInt } from "../../environment/random.ts";
import type { PeerAddresses } from "../audit/peer-addresses.ts";
import {
  isLongRunning,
  type RequestObserver,
  type RequestOutcome,
  type ServedRequest,
} from "../http/request-record.ts";
import type { ResourceRoute } from "../http/route.ts";
import { type TraceForm, traceText, traceThresholdMs } from "./request-trace.ts";

export interface RequestLinesForm {
  /** `wrap.go:42`. */
  readonly source: string;
  readonly layout: "bracketed" | "plain" | "structured";
  readonly verbosity: number;
}

export interface RequestJournalOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly klog: Klog;
  readonly traces: TraceForm;
  readonly lines: RequestLinesForm;
  /** The server's `--v`. */
  readonly verbosity: number;
  readonly peers: PeerAddresses;
}

/** Go's rand.Int31. */
const traceNumberMax = 2 ** 31;

export class RequestJournal implements RequestObserver {
  readonly #options: RequestJournalOptions;
  readonly #startedAt: MonotonicMs;

  constructor(options: RequestJournalOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonicMs();
  }

  finished(served: ServedRequest, outcome: RequestOutcome): void {
    const { klog, lines, traces, verbosity } = this.#options;
    const { route } = served;
    const isSlow = outcome.elapsedMs >= traceThresholdMs && !isLongRunning(route);
    if (isSlow && route?.type === "resource" && verbosity >= traces.verbosity) {
      const text = this.#trace(served, route, outcome);
      if (text !== undefined) klog.write("I", traces.source, text);
    }
    if (verbosity >= lines.verbosity) klog.write("I", lines.source, this.#line(served, outcome));
  }

  #trace(served: ServedRequest, route: ResourceRoute, outcome: RequestOutcome): string | undefined {
    const { clock, random, traces } = this.#options;
    const { request, notes, receivedAt } = served;
    const sinceStart = elapsedMs(this.#startedAt, clock.monotonicMs());
    const [path = ""] = request.target.split("?", 1);
    const { object } = notes;
    return traceText(
      {
        verb: route.verb,
        path,
        fields:
          traces.layout === "dated"
            ? this.#fields(served, route, path)
            : this.#fewFields(served, path),
        startedAt: receivedAt,
        startedMonotonicMs: sinceStart - outcome.elapsedMs,
        elapsedMs: outcome.elapsedMs,
        items: notes.items ?? 0,
        length: object === undefined ? 0 : Buffer.byteLength(JSON.stringify(object)),
        number: randomInt(random, traceNumberMax),
      },
      traces,
    );
  }

  /** 1.17 handlers: url, user-agent, client. */
  #fewFields({ request }: ServedRequest, path: string): readonly string[] {
    const agent = request.headers["user-agent"] ?? "";
    return [`url:${path}`, `user-agent:${agent}`, `client:${this.#client(request.peer)}`];
  }

  /** 1.33 handlers/trace_util.go traceFields. */
  #fields({ request, auditId }: ServedRequest, route: ResourceRoute, path: string) {
    const { kind, name = "", namespace = "", subresource = "" } = route;
    return [
      `accept:${request.headers["accept"] ?? ""}`,
      `audit-id:${auditId}`,
      `client:${this.#client(request.peer)}`,
      `api-group:${kind.group}`,
      `api-version:${kind.version}`,
      `name:${name}`,
      `subresource:${subresource}`,
      `namespace:${namespace}`,
      "protocol:HTTP/2.0",
      `resource:${kind.resource}`,
      `scope:${scopeOf(route)}`,
      `url:${path}`,
      `user-agent:${request.headers["user-agent"] ?? ""}`,
      `verb:${request.method === "GET" && route.verb === "list" ? "LIST" : request.method}`,
    ];
  }

  #line(served: ServedRequest, { code, elapsedMs: took }: RequestOutcome): string {
    const { layout } = this.#options.lines;
    const { request, route } = served;
    const agent = request.headers["user-agent"] ?? "";
    const from = this.#options.peers.withPort(request.peer);
    const latency = goDuration(took);
    if (layout === "structured") {
      return structured("HTTP", {
        verb:
          route?.type === "resource" && request.method === "GET" ? readVerb(route) : request.method,
        URI: request.target,
        latency,
        userAgent: agent,
        "audit-ID": served.auditId,
        srcIP: from,
        resp: code,
      });
    }
    const client = layout === "bracketed" ? `[${agent}]` : agent;
    return `${request.method} ${request.target}: (${latency}) ${code} [${client} ${from}]`;
  }

  #client(peer: string): string {
    return this.#options.peers.address(peer);
  }
}

/** metrics.CleanScope. */
function scopeOf({ name, namespace }: ResourceRoute): string {
  if (name !== undefined) return "resource";
  return namespace === undefined ? "cluster" : "namespace";
}

function readVerb({ verb }: ResourceRoute): string {
  return verb === "list" || verb === "watch" ? verb.toUpperCase() : "GET";
}
