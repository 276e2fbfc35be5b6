// How the lab's own components reach a cluster whose servers come and go: what is addressed to the
// first server goes to any that takes connections, as through the balancer that stands in front of
// the API servers of a real cluster. Only a request of which nothing was sent is tried elsewhere.
import {
  type ExchangeHandler,
  type IncomingResponse,
  type Listener,
  type ListenOptions,
  type Network,
  NetworkError,
  type OutgoingRequest,
} from "../../environment/network.ts";

export class ServerBalancer implements Network {
  readonly #network: Network;
  /** `https://127.0.0.1:6443` of each; the first is the address that all use. */
  #servers: readonly string[] = [];
  /** Where requests go at present. */
  #current = 0;

  constructor(network: Network) {
    this.#network = network;
  }

  serve(servers: readonly string[]): void {
    this.#servers = servers;
  }

  listen(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
    return this.#network.listen(options, handler);
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const [front] = this.#servers;
    if (front === undefined || !request.url.startsWith(`${front}/`)) {
      return this.#network.request(request);
    }
    const path = request.url.slice(front.length);
    for (let tries = 1; ; tries += 1) {
      const at = this.#current;
      try {
        const url = `${this.#servers[at] ?? front}${path}`;
        return await this.#network.request({ ...request, url });
      } catch (error) {
        if (!(error instanceof NetworkError) || error.code === "ABORTED") throw error;
        if (this.#current === at) this.#current = (at + 1) % this.#servers.length;
        if (error.code !== "REFUSED" || tries >= this.#servers.length) throw error;
      }
    }
  }
}
