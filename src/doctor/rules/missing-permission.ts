// A component may not do what it has to do. Without list and watch it never sees a change.

import { counted } from "../../environment/counted.ts";
import { logCause, type Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { AccessRequest } from "../evidence/grants.ts";
import { placeText, type SeenSign, type SignGroup } from "../evidence/sign-log.ts";

/** An informer needs all three, and a leader lock needs all of them. */
const readVerbs = ["get", "list", "watch"];
const lockVerbs = ["get", "list", "watch", "create", "update", "patch"];
const statusVerbs = ["get", "update", "patch"];

export const missingPermission = logCause({
  name: "missing-permission",
  summary:
    "The API server refuses requests that a component needs. Without list and watch it " +
    "never sees a change.",
  affected: "All versions with RBAC, current ones included.",
  shownBy: ["client log"],
  hop: undefined,
  explains: ["empty-ingress-status", "broken-watches", "leader-changes", "no-endpoints"],
  sign: "forbidden",
  linesMin: 1,
  text: ({ count, samples }) =>
    `${counted(count, "request")} refused: ${samples[0]?.subject ?? ""} cannot ${samples[0]?.detail ?? ""}`,
  others: ({ signs, objects }) => {
    const sample = signs.get("forbidden")?.samples[0];
    return sample === undefined ? [] : rolesSign(sample, objects);
  },
  conclude(group, { objects }) {
    const [sample] = group.samples;
    const { subject = "", detail = "" } = sample ?? {};
    const request = requestIn(detail);
    const component = subject === "" ? ([...group.programs.keys()][0] ?? "A component") : subject;
    const isGranted = objects.grants.allows(subject, request) === true;
    const hasRoles = objects.grants.rolesOf(subject).length > 0;
    return {
      severity: isGranted ? "info" : "warning",
      cause: isGranted
        ? `${component} was not allowed to ${request.verb} ${request.resource}; its roles of now allow it.`
        : `${component} is not allowed to ${request.verb} ${request.resource}.`,
      fix: {
        component,
        change: isGranted
          ? "# nothing to grant; restart the component if it does not try again"
          : `${grantOf(subject, group, objects)}${checkOf(subject, request)}`,
        reason:
          "The API server refused the request; a restart of the component does not change this. " +
          "Informers need get, list and watch together.",
      },
      missing: hasRoles
        ? []
        : [
            "kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml   # which role to change",
          ],
    };
  },
});

/** `resource "leases" in API group "…"`, `endpointslices.v1.discovery.k8s.io`, and the words of before 1.12. */
function requestIn(detail: string): AccessRequest {
  const named = /^\w+ ([a-z/]+)(?:\.v\d\w*)?(?:\.([a-z0-9.-]+))?/.exec(detail);
  return {
    verb: /^(\w+)/.exec(detail)?.[1] ?? "get",
    resource: /resource "([^"]+)"/.exec(detail)?.[1] ?? named?.[1] ?? "",
    group: /API group "([^"]*)"/.exec(detail)?.[1] ?? named?.[2] ?? "",
    namespace: / in the namespace "([^"]+)"$/.exec(detail)?.[1],
  };
}

/** The roles of the account, evaluated: a second source beside the log. */
function rolesSign(
  { subject, detail }: SeenSign,
  { grants }: Evidence["objects"],
): readonly Sign[] {
  const request = requestIn(detail);
  const bound = grants.rolesOf(subject);
  const [first] = bound;
  if (first === undefined || grants.allows(subject, request) !== false) return [];
  const names = bound.map(({ role }) => role).join(", ");
  const text = `the roles of ${subject} (${names}) do not allow ${request.verb} ${request.resource}`;
  return [
    { weight: "support", source: "objects", lines: [{ text, source: placeText(first.place) }] },
  ];
}

/** A rule for the role that the account has, or a role of its own. */
function grantOf(user: string, group: SignGroup, { grants }: Evidence["objects"]): string {
  const requests = new Map(
    group.samples
      .filter(({ subject }) => subject === user)
      .map(({ detail }) => requestIn(detail))
      .map((request) => [`${request.resource}.${request.group}`, request]),
  );
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  // Built-in roles are set back when an API server starts.
  const roles = grants
    .rolesOf(user)
    .filter(({ role }) => !/^ClusterRole (?:system:|cluster-admin$)/.test(role));
  return [...requests.values()]
    .map((request) => {
      const verbs = verbsFor(request);
      const role = roles.find((one) => one.namespace === request.namespace);
      if (role !== undefined) return patchOf(role.role, request, verbs);
      if (name === undefined || namespace === undefined) return ruleText(request, verbs);
      return ownRole({ namespace, name }, request, verbs);
    })
    .join("\n");
}

/** A role of its own, for one namespace where the request was for one. */
function ownRole(
  account: { readonly namespace: string; readonly name: string },
  request: AccessRequest,
  verbs: readonly string[],
): string {
  const own = `${account.name}-${request.resource.replace("/", "-")}`;
  const kind = request.namespace === undefined ? "clusterrole" : "role";
  const where = request.namespace === undefined ? "" : ` -n ${request.namespace}`;
  return [
    `kubectl${where} create ${kind} ${own} --verb=${verbs.join(",")} --resource=${resourceText(request)}`,
    `kubectl${where} create ${kind}binding ${own} --${kind}=${own} --serviceaccount=${account.namespace}:${account.name}`,
  ].join("\n");
}

/** The same request as the account, without its token. */
function checkOf(user: string, request: AccessRequest): string {
  if (user === "" || request.resource === "") return "";
  return `\nkubectl auth can-i ${request.verb} ${resourceText(request)} ${request.namespace === undefined ? "-A" : `-n ${request.namespace}`} --as=${user}   # yes after it`;
}

function verbsFor({ verb, resource }: AccessRequest): readonly string[] {
  if (resource.endsWith("/status")) return statusVerbs;
  if (resource === "leases") return lockVerbs;
  return readVerbs.includes(verb) ? readVerbs : [verb];
}

function resourceText({ resource, group }: AccessRequest): string {
  const [kind = "", part] = resource.split("/");
  const named = group === "" ? kind : `${kind}.${group}`;
  return part === undefined ? named : `${named}/${part}`;
}

/** `Role shop/reader`, `ClusterRole reader`. */
function patchOf(
  role: string,
  { group, resource }: AccessRequest,
  verbs: readonly string[],
): string {
  const [kind = "", path = ""] = role.split(" ");
  const [namespace, name] = path.includes("/") ? path.split("/") : [undefined, path];
  const value = { apiGroups: [group], resources: [resource], verbs };
  const patch = JSON.stringify([{ op: "add", path: "/rules/-", value }]);
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `kubectl${where} patch ${kind.toLowerCase()} ${name} --type=json -p '${patch}'`;
}

function ruleText({ group, resource }: AccessRequest, verbs: readonly string[]): string {
  return [
    "# rule for its Role or ClusterRole",
    `- apiGroups: ["${group}"]`,
    `  resources: ["${resource}"]`,
    `  verbs: [${verbs.map((verb) => `"${verb}"`).join(", ")}]`,
  ].join("\n");
}
