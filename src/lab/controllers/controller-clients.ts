// Each controller of the real controller manager builds a client of its own, and with it a rate
// limit of its own: `--kube-api-qps` is per controller, not for the process. Waits for a token have
// no deadline there, so the deadline of a request starts behind the limiter.
import type { Registry } from "prom-client";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient, KubeRequest, KubeResponse } from "../../kube/client/client.ts";
import { RateLimitedClient, type ThrottledRequest } from "../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import { type ClientMetricsForm, measured, measuresLimiter } from "./client-metrics.ts";

export interface ControllerClientsOptions extends Pick<Environment, "clock" | "timers"> {
  /** A client that sends at once, under this user agent. */
  readonly clientFor: (userAgent: string) => KubeClient;
  /** `https://host:port`, for log lines and metrics. */
  readonly server: string;
  /** The start of every user agent. */
  readonly program: string;
  readonly limit: ClientLimit;
  readonly onThrottled: (request: ThrottledRequest) => void;
  readonly registry: Registry;
  readonly metricsForm: ClientMetricsForm;
}

export interface ClientLimit {
  readonly qps: number;
  readonly burst: number;
}

/** The server gives up on a request after a minute by itself. */
const requestDeadlineMs = 60_000;

/**
 * Of one client. The requests of a real client share few connections. Here each takes one of its own,
 * and a controller that evicts all pods of a node, with a high limit, would use up all sockets.
 */
const openMax = 250;

export class ControllerClients {
  readonly #options: ControllerClientsOptions;

  constructor(options: ControllerClientsOptions) {
    this.#options = options;
  }

  /** A new client with a full bucket. */
  for(controller: string, limit: ClientLimit = this.#options.limit): KubeClient {
    const { clientFor, program, clock, timers, server, onThrottled, registry } = this.#options;
    const form = this.#options.metricsForm;
    const bucket = new TokenBucket({ clock, timers, ...limit });
    const metrics = measuresLimiter(form) ? { registry } : {};
    const limited = (client: KubeClient): KubeClient =>
      new RateLimitedClient({ client, bucket, clock, server, onThrottled, ...metrics });
    const timed = (client: KubeClient): KubeClient =>
      measured({ client, clock, registry, server, form });
    const bare = bounded(clientFor(`${program}/${controller}`));
    // Since 1.18 the time of a request begins before it waits for its token.
    return measuresLimiter(form) ? timed(limited(bare)) : limited(timed(bare));
  }
}

/** Each request has a deadline, and at most `openMax` are open: the others wait, in their order. */
function bounded(client: KubeClient): KubeClient {
  const waiting: (() => void)[] = [];
  let open = 0;
  const withDeadline = (request: KubeRequest) => ({ deadlineMs: requestDeadlineMs, ...request });
  /** The next one takes the place of the one that has ended. */
  const ended = (): void => {
    const next = waiting.shift();
    if (next === undefined) open -= 1;
    else next();
  };
  const send = (request: KubeRequest): Promise<KubeResponse> => {
    const answer = client.request(withDeadline(request));
    answer.then(ended, ended);
    return answer;
  };
  return {
    request: (request) => {
      if (open >= openMax) {
        return new Promise<void>((resolve) => waiting.push(resolve)).then(() => send(request));
      }
      open += 1;
      return send(request);
    },
    stream: (request) => client.stream(withDeadline(request)),
  };
}
