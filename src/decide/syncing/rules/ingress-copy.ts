// The copy of one Ingress: its rules that lead to synced services, with the class and the hosts of the
// access cluster. A rule is delivered whole or not at all: without one of its paths, another path
// would get the requests of that one.
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import type {
  Ingress,
  IngressBackend,
  IngressRule,
  IngressTls,
} from "../../../kube/kinds/ingress.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { compareText } from "../../compare-text.ts";
import { anyHost, hostOf, wwwCounterpart } from "../../routing/host-name.ts";
import { namedClass } from "../../routing/ingress-class-filter.ts";
import { shown } from "../../routing/shown-text.ts";
import type { CopyNames } from "../copy-names.ts";
import { mappedHost, type RuleSettings } from "./rule-settings.ts";

/** Everything of a copy that is compared and written. */
export interface IngressContent {
  readonly annotations: StringMap;
  readonly ingressClassName: string | undefined;
  readonly defaultBackend: IngressBackend | undefined;
  readonly rules: readonly IngressRule[];
  readonly tls: readonly IngressTls[];
}

export interface IngressCopy {
  /** Undefined when nothing of it can be delivered. */
  readonly content: IngressContent | undefined;
  /** Why something of it is not delivered, in words. */
  readonly problems: readonly string[];
  readonly hasSyncedService: boolean;
}

export interface CopyRules {
  readonly settings: RuleSettings;
  readonly names: Pick<CopyNames, "targetName">;
  /** Why the service of this name in the Ingress's namespace is not synced; undefined when it is. */
  readonly obstacle: (service: string) => string | undefined;
}

/** Undefined when its class has none in the access cluster, so that it is not meant. */
export function ingressCopy(ingress: Ingress, rules: CopyRules): IngressCopy | undefined {
  const { settings } = rules;
  const className = settings.classes[namedClass(ingress) ?? ""];
  if (className === undefined) return undefined;
  const problems: string[] = [];
  const fallback = ingress.defaultBackend;
  const fallbackProblem = fallback && defaultBackendProblem(fallback, rules);
  if (fallbackProblem !== undefined) problems.push(`default backend: ${fallbackProblem}`);
  const defaultBackend =
    fallback === undefined || fallbackProblem !== undefined
      ? undefined
      : copiedBackend(fallback, rules);
  const delivered = ingress.rules.flatMap((rule) => {
    const host = mappedHost(settings.hosts, rule.host);
    const name = rule.host === "" ? "rule without a host" : `host ${rule.host}`;
    const problem =
      host === undefined ? "hosts does not have it" : ruleProblem(rule, defaultBackend, rules);
    if (problem !== undefined) problems.push(`${name}: ${problem}`);
    if (host === undefined || problem !== undefined) return [];
    const paths = rule.paths.map((path) => ({
      ...path,
      backend: copiedBackend(path.backend, rules),
    }));
    return [{ host, paths }];
  });
  const annotations = mappedAnnotations(ingress, settings);
  problems.push(...annotations.problems);
  const isEmpty = delivered.length === 0 && defaultBackend === undefined;
  const backends = [
    ...(fallback === undefined ? [] : [fallback]),
    ...ingress.rules.flatMap(({ paths }) => paths.map(({ backend }) => backend)),
  ];
  return {
    problems,
    hasSyncedService: backends.some((one) => backendProblem(one, rules) === undefined),
    content: isEmpty
      ? undefined
      : {
          annotations: annotations.mapped,
          ingressClassName: className,
          defaultBackend,
          rules: delivered,
          tls: ingress.tls.flatMap((one) => mappedTls(one, settings)),
        },
  };
}

function ruleProblem(
  { paths }: IngressRule,
  defaultBackend: IngressBackend | undefined,
  rules: CopyRules,
): string | undefined {
  if (paths.length === 0 && defaultBackend === undefined) return "it has no path";
  for (const { backend } of paths) {
    const problem = backendProblem(backend, rules);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function backendProblem({ service }: IngressBackend, { obstacle }: CopyRules): string | undefined {
  return service === undefined ? "its backend is not a Service" : obstacle(service.name);
}

/** It gets the requests for all hosts that no rule of any Ingress has. */
function defaultBackendProblem(backend: IngressBackend, rules: CopyRules): string | undefined {
  if (rules.settings.hosts.length > 0) return "it is for every host, and hosts does not have that";
  return backendProblem(backend, rules);
}

/** Copies of services may have other names. */
function copiedBackend({ service }: IngressBackend, { names }: CopyRules): IngressBackend {
  return { service: service && { ...service, name: names.targetName(service.name) } };
}

function mappedTls({ hosts, secretName }: IngressTls, { hosts: mappings }: RuleSettings) {
  const mapped = hosts.flatMap((host) => mappedHost(mappings, host) ?? []);
  return hosts.length > 0 && mapped.length === 0 ? [] : [{ hosts: mapped, secretName }];
}

/** Those with one of the prefixes; others of a copy belong to programs of the access cluster. */
export function copiedAnnotations(
  { annotations }: Pick<Ingress, "annotations">,
  { annotations: prefixes }: RuleSettings,
): StringMap {
  const copied = Object.entries(annotations)
    .filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)))
    .sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(copied);
}

interface MappedAnnotations {
  readonly mapped: StringMap;
  readonly problems: readonly string[];
}

/** Two of them give an Ingress further hosts, for which the same mappings count. */
function mappedAnnotations(ingress: Ingress, settings: RuleSettings): MappedAnnotations {
  const copied = copiedAnnotations(ingress, settings);
  const { hosts } = settings;
  if (hosts.length === 0) return { mapped: copied, problems: [] };
  const mapped: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, value] of Object.entries(copied)) {
    if (name.endsWith("/server-alias")) {
      const written = value.split(",").map((one) => one.trim());
      const aliases = written.filter((one) => one !== "");
      // Some ingresses take an expression for a name here, or several with blanks between them.
      const own = aliases.map((one) => mappedName(hosts, one));
      const lost = aliases.filter((_, at) => own[at] === undefined).map(shown);
      if (lost.length > 0) problems.push(`${name}: hosts does not have ${lost.join(", ")}`);
      const left = own.filter((one) => one !== undefined);
      if (left.length > 0) mapped[name] = left.join(",");
    } else if (name.endsWith("/from-to-www-redirect") && !isWwwMapped(ingress, hosts)) {
      problems.push(`${name}: hosts does not have the other name of each host`);
    } else mapped[name] = value;
  }
  return { mapped, problems };
}

function mappedName(hosts: RuleSettings["hosts"], written: string): string | undefined {
  const host = hostOf(written);
  return host === undefined || host === anyHost ? undefined : mappedHost(hosts, host);
}

/** Whether each host of the copy has the other name, with or without `www.`, of the same mapping. */
function isWwwMapped({ rules }: Ingress, hosts: RuleSettings["hosts"]): boolean {
  return rules.every(({ host }) => {
    const to = mappedHost(hosts, host);
    const other = wwwCounterpart(to ?? "");
    return other === undefined || mappedHost(hosts, wwwCounterpart(host) ?? "") === other;
  });
}

/** The content of a copy as the access cluster shows it. */
export function shownContent(copy: Ingress, settings: RuleSettings): IngressContent {
  const { ingressClassName, defaultBackend, rules, tls } = copy;
  const annotations = copiedAnnotations(copy, settings);
  return { annotations, ingressClassName, defaultBackend, rules, tls };
}

export function isSameContent(a: IngressContent, b: IngressContent): boolean {
  return (
    JSON.stringify(a.annotations) === JSON.stringify(b.annotations) &&
    JSON.stringify(rawSpec(a)) === JSON.stringify(rawSpec(b))
  );
}

/** As the API has it; a field without a value is null, which a merge patch removes. */
export function rawSpec({ ingressClassName, defaultBackend, rules, tls }: IngressContent) {
  return {
    ingressClassName: ingressClassName ?? null,
    defaultBackend: defaultBackend === undefined ? null : rawBackend(defaultBackend),
    rules: rules.length === 0 ? null : rules.map(rawRule),
    tls: tls.length === 0 ? null : tls.map(rawTls),
  };
}

function rawRule({ host, paths }: IngressRule): RawRecord {
  const rawPaths = paths.map(({ path, pathType, backend }) => ({
    ...(path === "" ? {} : { path }),
    pathType: pathType === "" ? "ImplementationSpecific" : pathType,
    backend: rawBackend(backend),
  }));
  return {
    ...(host === "" ? {} : { host }),
    ...(rawPaths.length === 0 ? {} : { http: { paths: rawPaths } }),
  };
}

function rawBackend({ service }: IngressBackend): RawRecord {
  if (service === undefined) return {};
  const { name, port } = service;
  const number = typeof port === "number" ? { number: port } : { name: port };
  return { service: { name, ...(port === undefined ? {} : { port: number }) } };
}

function rawTls({ hosts, secretName }: IngressTls): RawRecord {
  return {
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(secretName === "" ? {} : { secretName }),
  };
}
