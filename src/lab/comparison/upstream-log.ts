// Which addresses a proxy tried for which request, also where the client had given up before an
// answer. Of a proxy in this process they are taken down where it goes out to the pods; a real nginx
// writes them into its access log, as `$upstream_addr`. Bounded by the traffic of one run.
import type { Network } from "../../environment/network.ts";
import { readAccessLog } from "../traffic/access-log.ts";
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

  /** Takes over what an access log has to say. */
  read(accessLog: string): void {
    for (const [target, addresses] of readAccessLog(accessLog)) {
      this.#tried.set(target, [...addresses]);
    }
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
