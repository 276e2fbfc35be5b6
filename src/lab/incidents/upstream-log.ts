// Which addresses a proxy tried for which request, taken down where the proxy goes out to the pods:
// the same for every proxy, and also for requests whose client had given up before an answer. It is
// what nginx writes as `$upstream_addr`. Bounded by the traffic of one run.
import type { Network } from "../../environment/network.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";

export class UpstreamLog {
  /** By path and query, which no two requests of a traffic source share. */
  readonly #tried = new Map<string, string[]>();

  /** The network for a proxy: every request through it is noted and passed on. */
  noting(network: Network): Network {
    return {
      request: (request) => {
        const { hostname, pathname, search } = new URL(request.url);
        this.#note(`${pathname}${search}`, hostname);
        return network.request(request);
      },
      listen: (options, handler) => network.listen(options, handler),
    };
  }

  /** In the order of the tries; empty when no proxy had anywhere to send it. */
  upstreamsOf({ target }: Pick<TrafficResult, "target">): readonly string[] {
    return this.#tried.get(target) ?? [];
  }

  #note(target: string, address: string): void {
    const tried = this.#tried.get(target);
    if (tried === undefined) this.#tried.set(target, [address]);
    else tried.push(address);
  }
}
