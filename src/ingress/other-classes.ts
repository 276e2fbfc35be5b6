// Ingresses with a host and path for a request that have another class: the most common reason why
// a written route is not served. Each is reported with its class and the change it needs. Pure.
import {
  type ClassChoice,
  ingressController,
  ingressFilter,
  namedClass,
} from "../decide/routing/ingress-class-filter.ts";
import type { Asked } from "../decide/routing/our-ingresses.ts";
import type { Ingress, IngressPath } from "../kube/kinds/ingress.ts";
import { compileHost, hostsFor, matchPath } from "../outputs/nginx/route-match.ts";
import type { Question } from "./explanation.ts";

/** All that is in the cluster, and which class is ours. */
export interface AskedInCluster extends Asked, ClassChoice {
  readonly className: string;
}

type Request = Pick<Question, "host" | "path">;

/** More Ingresses of one host would not help. */
const shownMax = 3;

/** A sentence for each that has it. */
export function inOtherClasses(request: Request, asked: AskedInCluster): readonly string[] {
  const isOurs = ingressFilter(asked.classes, asked.className, asked);
  const having = asked.ingresses.filter((one) => !isOurs(one) && has(one, request));
  const more = having.length - shownMax;
  return [
    ...having.slice(0, shownMax).map((one) => sentence(one, asked)),
    ...(more > 0 ? [`${more} more Ingresses of other classes have this host and path`] : []),
  ];
}

function has({ rules }: Ingress, { host, path }: Request): boolean {
  const named = hostsFor(host);
  // A rule without a host is for every host, and names none.
  const paths = rules
    .filter((rule) => named.includes(rule.host.toLowerCase()))
    .flatMap((rule) => rule.paths);
  return matchPath(compileHost(paths.map(pathRule)), path) !== undefined;
}

/** Regular expressions count as prefixes: what matters is whose it is, not what it matches. */
function pathRule({ path, pathType }: IngressPath) {
  const type = pathType === "Exact" ? ("Exact" as const) : ("Prefix" as const);
  return { path: path === "" ? "/" : path, type, service: "" };
}

function sentence(ingress: Ingress, { classes, className }: AskedInCluster): string {
  const { namespace, name } = ingress.metadata;
  const whose = `Ingress ${namespace}/${name} has this host and path`;
  const fix = `to serve it here, set its spec.ingressClassName: ${className}`;
  const named = namedClass(ingress);
  if (named === undefined) {
    return `${whose} but no class, and no class of this ingress is the default; ${fix}`;
  }
  const controller = classes.find(({ metadata }) => metadata.name === named)?.controller;
  if (controller === undefined) {
    return `${whose} but its class ${named} does not exist; ${fix}`;
  }
  if (named === className) {
    return (
      `${whose} and class ${named}, but the IngressClass belongs to ${controller}; ` +
      `delete the IngressClass and create it with spec.controller: ${ingressController}`
    );
  }
  return `${whose} but class ${named}, which ${controller} serves; ${fix}`;
}
