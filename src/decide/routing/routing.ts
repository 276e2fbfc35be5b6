// From what people asked for to the table of routes: a pure function of all Ingresses and classes.
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import { ingressFilter } from "./ingress-class-filter.ts";
import { ingressRoutes } from "./ingress-routes.ts";
import { type RouteTable, routeTable } from "./route-table.ts";

export interface RoutingInput {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  /** The class that is served even when the cluster has no IngressClass of this name. */
  readonly className: string;
}

export function routing({ ingresses, classes, className }: RoutingInput): RouteTable {
  const translated = ingresses.filter(ingressFilter(classes, className)).map(ingressRoutes);
  const table = routeTable(translated.flatMap(({ routes }) => routes));
  const problems = [...translated.flatMap((one) => one.problems), ...table.problems];
  return { ...table, problems };
}
