// Access: roles and bindings, reviews, impersonation, tokens.
import type { CaseWorld, ContractCase } from "../contract-case.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const other = { token: "other-token" };
const merge = { contentType: "application/merge-patch+json" };

export const accessCases: readonly ContractCase[] = [
  accessCase("a role and its binding let a user read", roleAndBinding),
  accessCase("a role is not given by whom it would raise", escalation),
  accessCase("roles and bindings have their rules", invalidRoles),
  accessCase("a binding keeps its role", fixedRole),
  accessCase("users ask what they may do", selfReviews),
  accessCase("others are asked about", otherReviews),
  accessCase("an administrator acts as another", impersonation),
  accessCase("a service account gets a token", tokens),
  accessCase("a token is reviewed", tokenReview),
];

function accessCase(name: string, run: (world: CaseWorld) => Promise<void>): ContractCase {
  return {
    area: "access",
    name,
    async run(world) {
      await world.open();
      await run(world);
    },
  };
}

function role(name: string, rules: readonly object[]): object {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name }, rules };
}

const readMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] };

function binding(roleName: string, subjects: readonly object[]): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "binding" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: roleName },
    subjects,
  };
}

const user = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "other" };

async function roleAndBinding({ call, name, untilStatus }: CaseWorld): Promise<void> {
  const own = `${rbac}/namespaces/${name}`;
  const maps = `/api/v1/namespaces/${name}/configmaps`;
  await call("GET", maps, undefined, other);
  await call("POST", `${own}/roles`, role("reader", [readMaps]));
  await call("POST", `${own}/rolebindings`, binding("reader", [user]));
  // The authorizer learns of it through a watch.
  await untilStatus(maps, 200, other);
  await call("GET", maps, undefined, other);
  await call("GET", `${maps}/absent`, undefined, other);
  await call("DELETE", `${maps}/absent`, undefined, other);
  await call("GET", `/api/v1/namespaces/${name}/secrets`, undefined, other);
  await call("DELETE", `${own}/rolebindings/binding`);
}

async function escalation({ call, name, untilStatus }: CaseWorld): Promise<void> {
  const own = `${rbac}/namespaces/${name}`;
  const writer = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["*"] };
  const limited = { ...writer, verbs: ["create", "get", "update"] };
  await call("POST", `${own}/roles`, role("writer", [limited]));
  await call("POST", `${own}/rolebindings`, binding("writer", [user]));
  await untilStatus(`${own}/roles/writer`, 200, other);
  await call("POST", `${own}/roles`, role("more", [readMaps]), other);
  await call("POST", `${own}/roles`, role("same", [limited]), other);
}

async function invalidRoles({ call, name }: CaseWorld): Promise<void> {
  const own = `${rbac}/namespaces/${name}`;
  for (const rule of [
    {},
    { verbs: ["get"] },
    { verbs: [], apiGroups: [""], resources: ["pods"] },
    { verbs: ["get"], resources: ["pods"] },
    { verbs: ["get"], apiGroups: [""] },
    { verbs: ["get"], nonResourceURLs: ["/x"] },
    { verbs: ["get"], apiGroups: [""], resources: ["pods"], nonResourceURLs: ["/x"] },
  ]) {
    await call("POST", `${own}/roles?dryRun=All`, role("thing", [rule]));
  }
  for (const subject of [
    { kind: "User", name: "" },
    { kind: "Robot", name: "r" },
    { kind: "ServiceAccount", name: "a" },
    { kind: "ServiceAccount", name: "A_", namespace: "x" },
    { kind: "Group", name: "g", namespace: "x" },
    { kind: "User", name: "u", apiGroup: "example.com" },
  ]) {
    await call("POST", `${own}/rolebindings?dryRun=All`, binding("reader", [subject]));
  }
  await call("POST", `${own}/rolebindings?dryRun=All`, binding("", [user]));
}

async function fixedRole({ call, name }: CaseWorld): Promise<void> {
  const bindings = `${rbac}/namespaces/${name}/rolebindings`;
  await call("POST", bindings, binding("one", [user]));
  await call("PATCH", `${bindings}/binding`, { roleRef: { name: "two" } }, merge);
  await call("PATCH", `${bindings}/binding`, { subjects: [] }, merge);
}

function review(kind: string, spec: object): object {
  return { apiVersion: "authorization.k8s.io/v1", kind, spec };
}

async function selfReviews({ call, name }: CaseWorld): Promise<void> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const resourceAttributes = { namespace: name, verb: "get", resource: "pods" };
  await call("POST", path, review("SelfSubjectAccessReview", { resourceAttributes }));
  await call("POST", path, review("SelfSubjectAccessReview", { resourceAttributes }), other);
  const nonResourceAttributes = { path: "/healthz", verb: "get" };
  const asked = review("SelfSubjectAccessReview", { nonResourceAttributes });
  await call("POST", path, asked, { ...other, project: withoutBinding });
  await call("POST", path, review("SelfSubjectAccessReview", {}));
  const rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  await call("POST", rules, review("SelfSubjectRulesReview", {}));
  const who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  await call(
    "POST",
    who,
    { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    other,
  );
}

/** Which of several bindings allows it depends on the order in which the server looks. */
function withoutBinding(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body).replace(/RBAC: allowed by .*?(?=",|"})/, "RBAC: allowed"));
}

async function otherReviews({ call, name }: CaseWorld): Promise<void> {
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const resourceAttributes = { namespace: name, verb: "list", resource: "pods" };
  for (const spec of [
    { user: "other", resourceAttributes },
    { user: "x", groups: ["system:masters"], resourceAttributes },
    { resourceAttributes },
    { user: "other" },
  ]) {
    await call("POST", path, review("SubjectAccessReview", spec));
  }
  const local = `/apis/authorization.k8s.io/v1/namespaces/${name}/localsubjectaccessreviews`;
  await call(
    "POST",
    local,
    review("LocalSubjectAccessReview", { user: "other", resourceAttributes }),
  );
}

async function impersonation({ call, name }: CaseWorld): Promise<void> {
  const maps = `/api/v1/namespaces/${name}/configmaps`;
  const as = (headers: Record<string, string>) => ({ headers });
  await call("GET", maps, undefined, as({ "impersonate-user": "other" }));
  await call(
    "GET",
    maps,
    undefined,
    as({ "impersonate-user": "x", "impersonate-group": "system:masters" }),
  );
  await call("GET", maps, undefined, as({ "impersonate-group": "system:masters" }));
  await call("GET", maps, undefined, { ...other, ...as({ "impersonate-user": "admin" }) });
}

async function tokens({ call, name }: CaseWorld): Promise<void> {
  const accounts = `/api/v1/namespaces/${name}/serviceaccounts`;
  await call("POST", accounts, { metadata: { name: "robot" } });
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3600 },
  };
  const hidden = (body: unknown): unknown => {
    const { status, ...rest } = body as { status?: { token?: string } };
    const parts = status?.token?.split(".").length;
    return typeof status === "object" ? { ...rest, parts } : body;
  };
  const issued = await call("POST", `${accounts}/robot/token`, request, { project: hidden });
  const { status } = issued.body as { status?: { token?: string } };
  await call("GET", `/api/v1/namespaces/${name}/pods`, undefined, { token: status?.token ?? "" });
  await call("POST", `${accounts}/absent/token`, request);
  await call("POST", `${accounts}/robot/token`, { ...request, spec: { expirationSeconds: 5 } });
}

async function tokenReview({ call }: CaseWorld): Promise<void> {
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const question = (token: string) => ({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token },
  });
  await call("POST", path, question("other-token"));
  await call("POST", path, question("nobody"));
  await call("POST", path, question(""));
}
