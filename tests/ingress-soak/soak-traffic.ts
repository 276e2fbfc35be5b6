// A client of the ingress that gives each request some seconds, and an observer of the proxy's
// connections to the pods. Both report to the judge.
import { type Network, NetworkError } from "../../src/environment/network.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import { edgeUrl, type SoakIngress } from "./soak-ingress.ts";
import type { SoakJudge } from "./soak-judge.ts";

export interface SoakTrafficOptions {
  readonly simulation: Simulation;
  readonly judge: SoakJudge;
  readonly ingress: SoakIngress;
  readonly tell: (text: string) => void;
}

/** Longer than three tries at silent endpoints and the wait for the first load. */
export const patienceMs = 8_000;

/** The errors that make a peer a suspect. */
const unreachable: ReadonlySet<string> = new Set(["REFUSED", "DEAD_PEER", "UNKNOWN_HOST"]);

export class SoakTraffic {
  readonly #options: SoakTrafficOptions;
  #requests = 0;

  constructor(options: SoakTrafficOptions) {
    this.#options = options;
  }

  /** One request for a service, with a target of its own. */
  async request(service: string): Promise<void> {
    const { judge, ingress, tell } = this.#options;
    this.#requests += 1;
    const target = `/?request=${this.#requests}`;
    const request = judge.request(service, target);
    const hadProxy = ingress.runs("proxy");
    const status = await this.#status(service, target);
    // A proxy that was killed, or cannot get pushes, is excused.
    const isExcused = !(hadProxy && ingress.runs("proxy") && ingress.loop?.isReady);
    if (status !== "200") tell(`${service} ${target}: ${status}`);
    if (!isExcused) judge.answered(request, status);
  }

  /** The proxy's network. */
  watched(network: Network): Network {
    const { simulation, judge, tell } = this.#options;
    return {
      listen: (options, handler) => network.listen(options, handler),
      request: async (request) => {
        const { hostname, pathname, search } = new URL(request.url);
        const service = (request.headers?.["host"] ?? "").replace(".example", "");
        const target = `${pathname}${search}`;
        const triedMs = simulation.now();
        judge.tried(service, target, hostname);
        try {
          const response = await network.request(request);
          judge.connected(service, hostname);
          return response;
        } catch (error) {
          const code = error instanceof NetworkError ? error.code : "";
          tell(`${service} ${target}: ${hostname} ${code}`);
          if (unreachable.has(code)) judge.unreached(service, hostname, triedMs);
          throw error;
        }
      },
    };
  }

  /** Lockstep's own network. */
  probing(network: Network): Network {
    const { judge } = this.#options;
    return {
      listen: (options, handler) => network.listen(options, handler),
      request: async (request) => {
        const response = await network.request(request);
        if (request.headers?.["user-agent"] === "lockstep-probe") {
          judge.probed(new URL(request.url).hostname);
        }
        return response;
      },
    };
  }

  /** The status of the answer, or why there was none. */
  async #status(service: string, target: string): Promise<string> {
    const { network, timers } = this.#options.simulation.host("client");
    const patience = new AbortController();
    const cancel = timers.after(patienceMs, () => patience.abort());
    try {
      const response = await network.request({
        method: "GET",
        url: `${edgeUrl}${target}`,
        headers: { host: `${service}.example` },
        signal: patience.signal,
      });
      for await (const _ of response.body);
      return String(response.status);
    } catch (error) {
      if (error instanceof NetworkError) return error.code;
      throw error;
    } finally {
      cancel();
    }
  }
}
