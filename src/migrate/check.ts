// The verdict on every Ingress that ingress-nginx serves: what stays the same with Lockstep, what
// differs and what is refused. Routes, certificates and passwords are decided by the code of `lockstep
// ingress` itself, so a verdict is what it would do. Pure.
import { Certificates } from "../decide/routing/certificates.ts";
import { annotationPrefixes } from "../decide/routing/ingress/annotation-reader.ts";
import { annotationUses } from "../decide/routing/ingress/annotations.ts";
import {
  MissingBackends,
  missingOf,
  type ServiceExistence,
} from "../decide/routing/missing-backends.ts";
import type { Backend, RoutingProblem } from "../decide/routing/route.ts";
import { Routing, type RoutingOptions } from "../decide/routing/routing.ts";
import { UserLists } from "../decide/routing/user-lists.ts";
import type { WallMs } from "../environment/clock.ts";
import { atOnce } from "../environment/steps.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import type { SecretReference } from "../sources/secret-source.ts";
import { type ControllerReport, checkedController } from "./check-controller.ts";
import type { LockstepSettings } from "./controller-settings.ts";
import type { FoundObjects } from "./found-objects.ts";
import { type ChosenIngresses, chooseIngresses } from "./ingress-choice.ts";
import { onlyIngressNginxReads } from "./ingress-nginx.ts";
import { NginxLocations } from "./nginx-locations.ts";

export type Verdict = "same" | "differs" | "refused";

export interface Finding {
  /**
   * `note`: an object is missing, an older Ingress has the path, or neither reads the annotation; both
   * answer alike, so it changes no verdict.
   */
  readonly kind: "differs" | "refused" | "note";
  /** The reason of the Event that Lockstep would write, or `Differs`. */
  readonly reason: string;
  /** The annotation without the usual prefix, the field, or the host that it is about. */
  readonly about: string;
  readonly message: string;
}

export interface CheckedIngress {
  readonly namespace: string;
  readonly name: string;
  readonly class: string;
  readonly hosts: readonly string[];
  readonly paths: number;
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  /** Annotations with the same effect in both: the evidence for "same". */
  readonly sameAnnotations: readonly string[];
}

export interface CheckReport {
  readonly ingresses: readonly CheckedIngress[];
  readonly controller: ControllerReport;
  /** Ingresses that ingress-nginx does not serve, by class. */
  readonly others: ReadonlyMap<string, number>;
  /** One sentence for each thing that could not be checked. */
  readonly notChecked: readonly string[];
}

export interface CheckOptions {
  /** Only Ingresses of these classes; all that ingress-nginx serves where it is empty. */
  readonly classes: readonly string[];
  readonly routing: Pick<RoutingOptions, "shareHosts" | "authNamespaces" | "sslRedirect">;
  readonly lockstep: LockstepSettings;
  readonly defaultCertificate?: SecretReference | undefined;
  /** `namespace/name` of the ConfigMap; by the flags of the controller where it is absent. */
  readonly configMap?: string | undefined;
  readonly now: WallMs;
}

const [, ingressNginxPrefix] = annotationPrefixes;

export function check(found: FoundObjects, options: CheckOptions): CheckReport {
  const chosen = chooseIngresses(found, options.classes);
  const controller = checkedController(found, options);
  const setting = (name: string) => controller.configMap?.data[name];
  const ingresses: CheckedIngress[] = [];
  // A controller for each class, as for ingress-nginx.
  for (const [className, ofClass] of chosen.byClass) {
    ingresses.push(...checkClass(found, { className, ofClass, setting }, options));
  }
  return {
    ingresses: ingresses.sort(bySeverity),
    controller,
    others: chosen.others,
    notChecked: notChecked(found, chosen),
  };
}

interface OneClass {
  readonly className: string;
  readonly ofClass: readonly Ingress[];
  readonly setting: (name: string) => string | undefined;
}

function checkClass(
  found: FoundObjects,
  { className, ofClass, setting }: OneClass,
  options: CheckOptions,
): readonly CheckedIngress[] {
  // However an Ingress names its class: the decision is about those chosen, and no others.
  const asked = ofClass.map((one) => ({ ...one, ingressClassName: className }));
  const problems = problemsOf(found, { className, asked }, options);
  const sslRedirect = setting("ssl-redirect") !== "false";
  const locations = new NginxLocations(asked, { sslRedirect });
  return asked.map((ingress) => {
    const key = objectKey(ingress.metadata);
    const uses = annotationUses(ingress.annotations, setting);
    const unread = new Set(uses.filter(({ isKnown }) => !isKnown).map(({ fullName }) => fullName));
    const isUnread = (about: string) =>
      unread.has(`${ingressNginxPrefix}${about}`) && !onlyIngressNginxReads.has(about);
    const findings: Finding[] = [
      ...(problems.get(key) ?? [])
        .map((problem) => findingOf(found, ingress, problem))
        .map((finding) => (isUnread(finding.about) ? unreadByBoth(finding) : finding))
        .map((finding) =>
          isLonelyCanary(finding, ingress, asked) ? lonelyCanary(finding) : finding,
        ),
      ...locations.differences(ingress).map(({ field, message }) => differs(field, message)),
      ...uses.flatMap(({ fullName, difference }) =>
        difference === undefined ? [] : differs(`annotation ${fullName}`, difference),
      ),
    ];
    const named = (fullName: string) =>
      findings.some(({ kind, message }) => kind !== "note" && message.includes(`${fullName}:`));
    return {
      namespace: ingress.metadata.namespace,
      name: ingress.metadata.name,
      class: className,
      hosts: [...new Set(ingress.rules.map(({ host }) => (host === "" ? "*" : host)))],
      paths: ingress.rules.reduce((sum, { paths }) => sum + paths.length, 0),
      verdict: verdictOf(findings),
      findings: findings.sort((a, b) => weight(b.kind) - weight(a.kind)),
      sameAnnotations: uses
        .filter(({ fullName, isKnown }) => isKnown && !named(fullName))
        .map(({ fullName }) => fullName),
    };
  });
}

/** By key of the Ingress, all that the product would report. */
function problemsOf(
  found: FoundObjects,
  { className, asked }: { readonly className: string; readonly asked: readonly Ingress[] },
  { routing: options, defaultCertificate, now }: CheckOptions,
): ReadonlyMap<string, readonly RoutingProblem[]> {
  const routing = new Routing({ ...options, className });
  const { problems: ofRoutes, backends } = routing.decide({ ingresses: asked, classes: [] });
  const { changes } = routing;
  const certificates = new Certificates({ defaultCertificate });
  const secret = (reference: SecretReference) => found.tlsSecret(objectKey(reference));
  atOnce(certificates.changing(changes.ingresses, { secret, now, areNew: true }, routing));
  const users = new UserLists();
  users.change(changes.ingresses, (reference) => found.passwordSecret(objectKey(reference)));
  const missing = new MissingBackends();
  if (found.isListed("services")) {
    for (const [key, backend] of backends) {
      missing.note(key, missingOf(existence(found, backend), backend.port));
    }
  }
  const byKey = new Map<string, RoutingProblem[]>();
  for (const problem of [
    ...ofRoutes,
    ...certificates.table.problems,
    ...users.table.problems,
    ...missing.problems((key) => routing.originsOf(key)),
  ]) {
    const key = objectKey(problem.origin);
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [problem]);
    else known.push(problem);
  }
  return byKey;
}

function existence(found: FoundObjects, { namespace, name }: Backend): ServiceExistence {
  const service = found.services.get(`${namespace}/${name}`);
  return {
    namespace,
    name,
    clusters: service === undefined ? [] : [{ cluster: "the input", service }],
  };
}

/** These objects are missing or broken in both, and both answer alike. */
const missingReasons: ReadonlySet<string> = new Set(["BackendMissing", "CertificateExpired"]);

/** Of two Ingresses with the same host and path the oldest wins in both. */
const sameReasons: ReadonlySet<string> = new Set(["PathTaken"]);

function findingOf(found: FoundObjects, ingress: Ingress, problem: RoutingProblem): Finding {
  const { reason = "Refused", message } = problem;
  const about = subjectOf(message);
  if (missingReasons.has(reason) || sameReasons.has(reason))
    return { kind: "note", reason, about, message };
  if (reason === "CertificateIgnored") return certificateFinding(found, ingress, message);
  return { kind: "refused", reason, about, message };
}

function unreadByBoth(finding: Finding): Finding {
  const message = `${finding.message}; ingress-nginx does not have this annotation either`;
  return { ...finding, kind: "note", message };
}

/** No Ingress of any namespace is the main one of one of its paths. */
function isLonelyCanary({ reason }: Finding, canary: Ingress, asked: readonly Ingress[]): boolean {
  if (reason !== "CanaryIgnored") return false;
  const mains = asked.filter(
    ({ annotations }) => annotations[`${ingressNginxPrefix}canary`] !== "true",
  );
  const own = new Set(pathsOf(canary));
  return !mains.some((main) => pathsOf(main).some((path) => own.has(path)));
}

function lonelyCanary(finding: Finding): Finding {
  const message = `${finding.message}; ingress-nginx ignores it too`;
  return { ...finding, kind: "note", message };
}

function pathsOf({ rules }: Ingress): readonly string[] {
  return rules.flatMap(({ host, paths }) => paths.map(({ path }) => `${host} ${path}`));
}

/** A secret that is absent or broken is so in both; one of another type is used by ingress-nginx. */
function certificateFinding(found: FoundObjects, ingress: Ingress, message: string): Finding {
  const reason = "CertificateIgnored";
  const about = subjectOf(message);
  const { namespace } = ingress.metadata;
  const keys = ingress.tls.map(({ secretName }) => `${namespace}/${secretName}`);
  const named = keys.find((key) => message.includes(key));
  const state = named === undefined ? undefined : found.tlsSecret(named).kind;
  if (state !== "absent") return { kind: "refused", reason, about, message };
  const type = found.typeOfSecret(named ?? "");
  if (type === undefined) return { kind: "note", reason, about, message };
  const other = `its type is ${type}, which ingress-nginx accepts`;
  return { kind: "refused", reason, about, message: `${message}; ${other}` };
}

function differs(where: string, message: string): Finding {
  const whole = `${where}: ${message}`;
  return { kind: "differs", reason: "Differs", about: subjectOf(whole), message: whole };
}

/** Messages begin with the annotation or the field, or have the host and the path. */
function subjectOf(message: string): string {
  const [, annotation] =
    /^annotation (?:nginx\.ingress\.kubernetes\.io\/)?(\S+): /.exec(message) ?? [];
  const [, field] = /^(spec\.\S+): /.exec(message) ?? [];
  const [, host] = /\bhost (\S+?)[,:]? /.exec(message) ?? [];
  const [, backend] = /^(backend \S+): /.exec(message) ?? [];
  return annotation ?? field ?? backend ?? (host === undefined ? "" : `host ${host}`);
}

function verdictOf(findings: readonly Finding[]): Verdict {
  if (findings.some(({ kind }) => kind === "refused")) return "refused";
  return findings.some(({ kind }) => kind === "differs") ? "differs" : "same";
}

function weight(kind: Finding["kind"] | Verdict): number {
  return ["same", "note", "differs", "refused"].indexOf(kind);
}

function bySeverity(a: CheckedIngress, b: CheckedIngress): number {
  const order = weight(b.verdict) - weight(a.verdict);
  if (order !== 0) return order;
  const [one, other] = [objectKey(a), objectKey(b)];
  return one < other ? -1 : Number(one > other);
}

function notChecked(found: FoundObjects, { guessed }: ChosenIngresses): readonly string[] {
  const notes: string[] = [];
  const absent = "none were read";
  if (!found.isListed("services")) notes.push(`whether Services and ports exist: ${absent}`);
  if (!found.isListed("secrets")) notes.push(`TLS certificates and passwords: ${absent}`);
  if (guessed !== undefined) notes.push(guessed);
  return notes;
}
