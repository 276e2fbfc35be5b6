// The proxies that `--proxy` names, asked again and again what they route to. One that does not answer
// is said to be silent, and its hop is then unknown.
import type { Environment } from "../../../environment/environment.ts";
import type { Observer } from "../../../observe/observer.ts";
import { ProxyAddressError, readProxyAddress } from "../../../observe/routed/proxy-address.ts";
import type { ProxySource } from "../../../observe/routed/proxy-source.ts";
import { proxySource } from "../../../observe/routed/proxy-sources.ts";
import { throwAsUsage } from "../../as-usage.ts";
import { UsageError } from "../../command.ts";

export interface AskedProxiesOptions {
  readonly environment: Environment;
  readonly observer: Observer;
  /** As `--proxy` gives them. */
  readonly proxies: readonly string[];
  /** The names of the observed clusters. */
  readonly clusters: readonly string[];
}

export class AskedProxies {
  readonly #sources: readonly ProxySource[];

  /** Throws a `UsageError` for an address that cannot be. */
  constructor({ environment, observer, proxies, clusters }: AskedProxiesOptions) {
    this.#sources = addressesOf(proxies).map((address) =>
      proxySource({
        ...environment,
        address,
        clusters,
        witness: observer.replica(address.name),
        isService: (service) => observer.isService(service),
      }),
    );
  }

  start(): void {
    for (const source of this.#sources) source.start();
  }

  /** What somebody should know who misses the hop. */
  notes(): readonly string[] {
    return this.#sources.flatMap(({ status }) => {
      const { name, state, problem, ambiguous } = status;
      const silent = `proxy ${name} does not report its endpoints, so its routed times are unknown`;
      return [
        ...(state === "connected" || problem === undefined ? [] : [`${silent}: ${problem}`]),
        ...(ambiguous.length === 0
          ? []
          : [`proxy ${name} has backends that match several services: ${ambiguous.join(", ")}`]),
      ];
    });
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }
}

function addressesOf(proxies: readonly string[]) {
  try {
    const addresses = proxies.map(readProxyAddress);
    const names = addresses.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice === undefined) return addresses;
    throw new UsageError(`--proxy ${twice} is given twice: remove one.`);
  } catch (error) {
    return throwAsUsage([ProxyAddressError], error, "--proxy ");
  }
}
