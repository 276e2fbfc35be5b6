// A stock replica: the model of ingress-nginx's controller with its proxy, which is a real nginx or, in
// virtual time, a model of one. Its witness reports what it routes the shop's requests to.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedWitness } from "../../observe/routed-witness.ts";
import { shopService } from "../shop.ts";
import type { StockBackend } from "../stock/stock-configuration.ts";
import { StockController, type StockControllerOptions } from "../stock/stock-controller.ts";
import type { OnRouted, StockPlane } from "../stock/stock-plane.ts";
import { type SideReplica, stockBackend } from "./side.ts";

export interface StockReplicaOptions extends Pick<StockControllerOptions, "published"> {
  readonly environment: Environment;
  readonly access: ClusterAccess;
  readonly witness: RoutedWitness;
  /** Makes its proxy. */
  readonly plane: (onRouted: OnRouted) => StockPlane;
  /** Called when the proxy is known to route to these addresses, and since when it does. */
  readonly onRouted?: (addresses: readonly string[], at: MonotonicMs) => void;
}

export async function startStockReplica(options: StockReplicaOptions): Promise<SideReplica> {
  const { environment, access, witness, published } = options;
  const plane = options.plane((backends, at) => {
    const endpoints = shopEndpoints(backends);
    options.onRouted?.(
      endpoints.map(({ address }) => address),
      at,
    );
    witness.routed(shopService, endpoints, environment.clock.monotonicMs());
  });
  const controller = new StockController({
    ...environment,
    client: new HttpKubeClient({ ...environment, cluster: access, userAgent: "stock" }),
    cluster: access.name,
    published,
    plane,
  });
  try {
    await controller.start();
  } catch (error) {
    await controller.stop();
    throw error;
  }
  return { address: plane.address, stop: () => controller.stop() };
}

/** The endpoints of the shop in a stock proxy. */
export function shopEndpoints(backends: readonly StockBackend[]): StockBackend["endpoints"] {
  return backends.find(({ name }) => name === stockBackend)?.endpoints ?? [];
}
