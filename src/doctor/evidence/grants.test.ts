import { expect, test } from "vitest";
import { diagnose } from "../diagnose.ts";
import { noFacts } from "./evidence.ts";
import { TextReader } from "./text-reader.ts";

const refused = (user: string, rest: string): string =>
  `E1127 17:22:13.434647       7 reflector.go:148] x/reflector.go:231: Failed to watch *v1.EndpointSlice: failed to list *v1.EndpointSlice: endpointslices.discovery.k8s.io is forbidden: User "system:serviceaccount:${user}" cannot ${rest} at the cluster scope`;

const list = 'list resource "endpointslices" in API group "discovery.k8s.io"';

const roleOf = (
  kind: string,
  name: string,
  rules: string,
): string => `apiVersion: rbac.authorization.k8s.io/v1
kind: ${kind}
metadata:
  name: ${name}
  namespace: edge
rules:
${rules}
---`;

const bindingOf = (kind: string, role: string): string => `apiVersion: rbac.authorization.k8s.io/v1
kind: ${kind}
metadata:
  name: edge
  namespace: edge
roleRef:
  kind: ${role.split(" ")[0] ?? ""}
  name: ${role.split(" ")[1] ?? ""}
subjects:
- kind: ServiceAccount
  name: edge
  namespace: edge
---`;

const endpoints = `- apiGroups: [""]
  resources: ["endpoints"]
  verbs: ["get", "list", "watch"]`;
const slices = `- apiGroups: ["discovery.k8s.io"]
  resources: ["*"]
  verbs: ["get", "list", "watch"]`;

function findingOf(...texts: readonly string[]) {
  const facts = noFacts();
  const reader = new TextReader(facts, "pasted.txt");
  for (const line of texts.join("\n").split("\n")) reader.push(line);
  reader.end();
  return diagnose({ ...facts, metrics: [], journeys: undefined }).findings[0];
}

test("a service account whose roles do not allow the request gets a patch of its own role", () => {
  const finding = findingOf(
    refused("edge:edge", list),
    roleOf("ClusterRole", "edge-reader", endpoints),
    bindingOf("ClusterRoleBinding", "ClusterRole edge-reader"),
  );
  expect(finding).toMatchObject({ rule: "missing-permission", confidence: "certain: two sources" });
  expect(finding?.evidence[1]?.text).toBe(
    "the roles of system:serviceaccount:edge:edge (ClusterRole edge-reader) do not allow list endpointslices",
  );
  expect(finding?.fix.change).toBe(
    'kubectl patch clusterrole edge-reader --type=json -p \'[{"op":"add","path":"/rules/-","value":{"apiGroups":["discovery.k8s.io"],"resources":["endpointslices"],"verbs":["get","list","watch"]}}]\'\n' +
      "kubectl auth can-i list endpointslices.discovery.k8s.io -A --as=system:serviceaccount:edge:edge   # yes after it",
  );
});

test("roles that allow it by now make it information", () => {
  const finding = findingOf(
    refused("edge:edge", list),
    roleOf("ClusterRole", "edge-reader", slices),
    bindingOf("ClusterRoleBinding", "ClusterRole edge-reader"),
  );
  expect(finding).toMatchObject({ severity: "info", confidence: "likely: one source" });
});

test("a role that is not in the evidence says nothing", () => {
  const binding = bindingOf("ClusterRoleBinding", "ClusterRole edge-reader");
  expect(findingOf(refused("edge:edge", list), binding)).toMatchObject({
    severity: "warning",
    confidence: "likely: one source",
  });
});

test("a role of one namespace allows the request there and no list of all namespaces", () => {
  const roles = `${roleOf("Role", "edge-reader", slices)}\n${bindingOf("RoleBinding", "Role edge-reader")}`;
  const everywhere = findingOf(refused("edge:edge", list), roles);
  expect(everywhere?.confidence).toBe("certain: two sources");
  expect(everywhere?.fix.change).toMatch(/^kubectl create clusterrole edge-endpointslices /);
  const there = refused("edge:edge", `${list} in the namespace "edge"`);
  expect(findingOf(there, roles)?.severity).toBe("info");
});

test("a request in one namespace needs a role of that namespace only", () => {
  const lease = 'get resource "leases" in API group "coordination.k8s.io" in the namespace "edge"';
  expect(findingOf(refused("edge:edge", lease))?.fix.change.split("\n")[0]).toBe(
    "kubectl -n edge create role edge-leases --verb=get,list,watch,create,update,patch --resource=leases.coordination.k8s.io",
  );
});

test("without roles the fix creates one, and the finding says which objects are missing", () => {
  const finding = findingOf(refused("edge:edge", list));
  expect(finding?.fix.change).toBe(
    [
      "kubectl create clusterrole edge-endpointslices --verb=get,list,watch --resource=endpointslices.discovery.k8s.io",
      "kubectl create clusterrolebinding edge-endpointslices --clusterrole=edge-endpointslices --serviceaccount=edge:edge",
      "kubectl auth can-i list endpointslices.discovery.k8s.io -A --as=system:serviceaccount:edge:edge   # yes after it",
    ].join("\n"),
  );
  expect(finding?.missing).toHaveLength(1);
});
