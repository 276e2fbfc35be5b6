// How ingress-nginx would route the hosts and paths of all Ingresses, as far as Lockstep routes them
// otherwise. Facts read in ingress-nginx 1.15.1: one rewrite-target or use-regex makes every path of the
// host a regular expression (template.go), ImplementationSpecific counts as Prefix (k8s/main.go), and a
// certificate of any Ingress redirects all paths of the host (certificate.lua, lua_ingress.lua).
import { anyHost, hostOf, wildcardOver } from "../decide/routing/host-name.ts";
import { readAnnotations } from "../decide/routing/ingress/annotations.ts";
import { matchOf } from "../decide/routing/ingress/ingress-paths.ts";
import type { IngressSettings } from "../decide/routing/ingress/ingress-settings.ts";
import { plain } from "../decide/routing/shown-text.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import { objectKey } from "../kube/kinds/kind.ts";

interface HostFacts {
  /** The Ingress that makes all paths of the host expressions, and its annotation. */
  regexBy: { readonly ingress: Ingress; readonly annotation: string } | undefined;
  /** The Ingress that has TLS for the host. */
  tlsBy: Ingress | undefined;
  /** A path or a default backend takes every request of the host. */
  isWhole: boolean;
  readonly ingresses: Set<Ingress>;
}

/** In one sentence; the others behave alike. */
const maxShownPaths = 3;

export interface RouteDifference {
  readonly field: string;
  readonly message: string;
}

export class NginxLocations {
  readonly #hosts = new Map<string, HostFacts>();
  readonly #settings = new Map<Ingress, IngressSettings>();
  readonly #sslRedirect: boolean;

  /** Of one controller. `sslRedirect` is its setting for Ingresses without the annotation. */
  constructor(ingresses: readonly Ingress[], { sslRedirect }: { readonly sslRedirect: boolean }) {
    this.#sslRedirect = sslRedirect;
    for (const ingress of ingresses) {
      const settings = readAnnotations(ingress.annotations, () => undefined);
      this.#settings.set(ingress, settings);
      for (const tlsHost of ingress.tls.flatMap(({ hosts }) => hosts)) {
        const host = hostOf(tlsHost);
        if (host !== undefined) this.#factsOf(host).tlsBy ??= ingress;
      }
      if (settings.canary !== undefined) continue;
      // Lockstep lets it serve any host.
      if (ingress.defaultBackend !== undefined) this.#factsOf(anyHost).ingresses.add(ingress);
      for (const { host, path, pathType } of pathsOf(ingress)) {
        const facts = this.#factsOf(host);
        facts.ingresses.add(ingress);
        facts.isWhole ||=
          ingress.defaultBackend !== undefined || takesAll(path, pathType, settings);
        const annotation = regexAnnotation(settings, path);
        if (annotation !== undefined) facts.regexBy ??= { ingress, annotation };
      }
    }
  }

  /** The routes of this Ingress that ingress-nginx serves otherwise. */
  differences(ingress: Ingress): readonly RouteDifference[] {
    const settings = this.#settings.get(ingress);
    if (settings === undefined || settings.canary !== undefined) return [];
    return [
      ...this.#regexDifferences(ingress, settings),
      ...this.#redirectDifferences(ingress, settings),
      ...this.#fallbackDifferences(ingress),
      ...defaultBackendDifference(ingress),
    ];
  }

  /** A path without a rule: Lockstep goes on to a wildcard or to any host, of the same namespace. */
  #fallbackDifferences(ingress: Ingress): readonly RouteDifference[] {
    const found: RouteDifference[] = [];
    for (const host of new Set(pathsOf(ingress).map((one) => one.host))) {
      if (host === anyHost || this.#hosts.get(host)?.isWhole === true) continue;
      const wider = [wildcardOver(host), anyHost].find((name) =>
        [...(this.#hosts.get(name ?? "")?.ingresses ?? [])].some(
          ({ metadata }) => metadata.namespace === ingress.metadata.namespace,
        ),
      );
      if (wider === undefined) continue;
      const message =
        `host ${host}: a path without a rule is served by the rules of ${shownHost(wider)}; ` +
        "ingress-nginx answers 404";
      found.push({ field: "spec.rules", message });
    }
    return found;
  }

  #regexDifferences(ingress: Ingress, settings: IngressSettings): readonly RouteDifference[] {
    const wider = new Map<string, string[]>();
    for (const { host, path, pathType } of pathsOf(ingress)) {
      const by = this.#hosts.get(host)?.regexBy;
      if (by === undefined || path === "/") continue;
      const match = matchOf({ path, pathType }, settings);
      // A refused path is a problem of its own.
      if (typeof match === "string" || match.type === "Regex") continue;
      const name = objectKey(by.ingress.metadata);
      const whose = by.ingress === ingress ? by.annotation : `${by.annotation} of ${name}`;
      const what = `${host === anyHost ? "any host" : `host ${host}`}: because of ${whose}, ingress-nginx reads`;
      const paths = wider.get(what) ?? [];
      paths.push(plain(path));
      wider.set(what, paths);
    }
    return [...wider].map(([what, paths]) => {
      const [first = ""] = paths;
      const more = paths.length > maxShownPaths ? ` and ${paths.length - maxShownPaths} more` : "";
      const listed = `${paths.slice(0, maxShownPaths).join(", ")}${more}`;
      const reading = `as a regular expression, so ${first}x and ${first.toUpperCase()} match there too`;
      return { field: "annotation use-regex", message: `${what} ${listed} ${reading}` };
    });
  }

  #redirectDifferences(ingress: Ingress, settings: IngressSettings): readonly RouteDifference[] {
    const { sslRedirect = this.#sslRedirect, forceSslRedirect } = settings;
    if (forceSslRedirect || !sslRedirect) return [];
    const own = new Set(
      ingress.tls.flatMap(({ hosts }) => hosts.flatMap((one) => hostOf(one) ?? [])),
    );
    const isForAll = ingress.tls.some(({ hosts }) => hosts.length === 0);
    const isOwn = (name: string) => isForAll || own.has(name);
    const found: RouteDifference[] = [];
    for (const host of new Set(pathsOf(ingress).map((one) => one.host))) {
      if (host === anyHost) continue;
      const above = wildcardOver(host);
      if (isOwn(host) || (above !== undefined && isOwn(above))) continue;
      const names = [host, ...(above === undefined ? [] : [above])];
      const by = names.map((name) => this.#hosts.get(name)?.tlsBy).find((one) => one !== undefined);
      if (by === undefined) continue;
      const message =
        `host ${host}: ${objectKey(by.metadata)} has TLS for it, so ingress-nginx redirects these ` +
        "paths to https too; Lockstep redirects only if this Ingress has TLS for the host";
      found.push({ field: "annotation ssl-redirect", message });
    }
    return found;
  }

  #factsOf(host: string): HostFacts {
    const known = this.#hosts.get(host) ?? {
      regexBy: undefined,
      tlsBy: undefined,
      isWhole: false,
      ingresses: new Set(),
    };
    this.#hosts.set(host, known);
    return known;
  }
}

/** Whether ingress-nginx makes an expression of the path, and by which annotation. */
function regexAnnotation({ useRegex, policy }: IngressSettings, path: string): string | undefined {
  if (useRegex) return "use-regex";
  return policy.rewrite !== undefined && policy.rewrite !== path ? "rewrite-target" : undefined;
}

/** A path that no rule would name. RE2 has accepted the expression, and the text is short. */
const unnamedPath = "/-";

/** Whether the path takes every request of its host. */
function takesAll(path: string, pathType: string, settings: IngressSettings): boolean {
  const match = matchOf({ path, pathType }, settings);
  if (typeof match === "string" || match.type === "Exact") return false;
  if (match.type === "Prefix") return match.path === "/";
  try {
    return new RegExp(`^(?:${match.path})`, "iu").test(unnamedPath);
  } catch {
    // RE2 knows syntax that JavaScript does not: the difference is reported then.
    return false;
  }
}

interface IngressPathOfHost {
  readonly host: string;
  readonly path: string;
  readonly pathType: string;
}

function pathsOf(ingress: Ingress): readonly IngressPathOfHost[] {
  return ingress.rules.flatMap((rule) => {
    const host = hostOf(rule.host);
    if (host === undefined) return [];
    return rule.paths.map(({ path, pathType }) => ({
      host,
      path: path === "" ? "/" : path,
      pathType,
    }));
  });
}

/** In ingress-nginx only an Ingress without rules serves the hosts that no Ingress has. */
function defaultBackendDifference({ defaultBackend, rules }: Ingress): readonly RouteDifference[] {
  const hasPaths = rules.some(({ paths }) => paths.length > 0);
  if (defaultBackend === undefined || !hasPaths) return [];
  const message =
    "the default backend also serves hosts that no Ingress has; in ingress-nginx only that of an " +
    "Ingress without rules";
  return [{ field: "spec.defaultBackend", message }];
}

function shownHost(host: string): string {
  return host === anyHost ? "any host" : host;
}
