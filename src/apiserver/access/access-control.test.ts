import { describe, expect, test } from "vitest";
import { inAccessWorld, rbac } from "../../../tests/apiserver/access-world.ts";
import { failure, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { textAt } from "../kinds/fields.ts";

const readPods = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] };

describe("a user", () => {
  test("may do nothing until a role is bound to him, and everything in it from then on", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      expect((await asOther("GET", pods)).json).toEqual(
        failure(
          403,
          "Forbidden",
          'pods is forbidden: User "other" cannot list resource "pods" in API group "" in the ' +
            'namespace "default"',
          { kind: "pods" },
        ),
      );
      await allow([readPods], "default");
      expect((await asOther("GET", pods)).status).toBe(200);
      expect(textAt((await asOther("GET", "/api/v1/pods")).json, "message")).toBe(
        'pods is forbidden: User "other" cannot list resource "pods" in API group "" at the ' +
          "cluster scope",
      );
      await allow([readPods]);
      expect((await asOther("GET", "/api/v1/pods")).status).toBe(200);
      expect((await asOther("POST", pods, pod("a"))).status).toBe(403);
    }));

  test("loses with the binding what it gave", () =>
    inAccessWorld(async ({ call, asOther, allow }) => {
      await allow([readPods]);
      expect((await asOther("GET", pods)).status).toBe(200);
      await call("DELETE", `${rbac}/clusterrolebindings/given-1`);
      expect((await asOther("GET", pods)).status).toBe(403);
    }));

  test("does not learn what resources there are from a refusal", () =>
    inAccessWorld(async ({ call, asOther }) => {
      const path = "/apis/nope.example/v1/things/x";
      expect((await asOther("GET", path)).json).toEqual(
        failure(
          403,
          "Forbidden",
          'things.nope.example "x" is forbidden: User "other" cannot get resource "things" in API ' +
            'group "nope.example" at the cluster scope',
          { name: "x", group: "nope.example", kind: "things" },
        ),
      );
      expect((await call("GET", path)).status).toBe(404);
    }));

  test("sees in the refusal that the role of a binding is absent", () =>
    inAccessWorld(async ({ call, asOther }) => {
      await call("POST", `${rbac}/namespaces/default/rolebindings`, {
        metadata: { name: "dangling" },
        roleRef: { kind: "Role", name: "missing" },
        subjects: [{ kind: "User", name: "other" }],
      });
      expect(textAt((await asOther("GET", pods)).json, "message")).toBe(
        'pods is forbidden: User "other" cannot list resource "pods" in API group "" in the ' +
          'namespace "default": RBAC: role.rbac.authorization.k8s.io "missing" not found',
      );
    }));
});

test("an anonymous client may read health and version, and nothing else", () =>
  inAccessWorld(async ({ call }) => {
    const nobody = { token: "" };
    expect((await call("GET", "/healthz", undefined, nobody)).text).toBe("ok");
    expect((await call("GET", "/version", undefined, nobody)).status).toBe(200);
    expect((await call("GET", "/api", undefined, nobody)).json).toEqual(
      failure(403, "Forbidden", 'forbidden: User "system:anonymous" cannot get path "/api"', {}),
    );
    expect((await call("GET", "/version", undefined, { token: "wrong" })).json).toEqual(
      failure(401, "Unauthorized", "Unauthorized"),
    );
  }));

describe("a user can grant only rights that the user holds:", () => {
  const writeRoles = {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["roles", "clusterroles", "rolebindings", "clusterrolebindings"],
    verbs: ["create", "update", "patch", "get"],
  };
  const roles = `${rbac}/namespaces/default/roles`;
  const bindings = `${rbac}/namespaces/default/rolebindings`;

  test("a role with other rules is refused, and one with held rules is not", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      await allow([writeRoles, readPods]);
      const own = { metadata: { name: "own" }, rules: [{ ...readPods, verbs: ["get"] }] };
      expect((await asOther("POST", roles, own)).status).toBe(201);
      const more = {
        metadata: { name: "own" },
        rules: [{ ...readPods, verbs: ["get", "delete"] }],
      };
      const refused = failure(
        403,
        "Forbidden",
        'roles.rbac.authorization.k8s.io "own" is forbidden: user "other" ' +
          '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently ' +
          'held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        { name: "own", group: "rbac.authorization.k8s.io", kind: "roles" },
      );
      expect((await asOther("PUT", `${roles}/own`, more)).json).toEqual(refused);
      const patch = { contentType: "application/merge-patch+json" };
      expect((await asOther("PATCH", `${roles}/own`, more, patch)).json).toEqual(refused);
    }));

  test("a binding of another role is refused unless the user may bind it", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      await allow([writeRoles]);
      const admin = {
        metadata: { name: "mine" },
        roleRef: { kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ kind: "User", name: "other" }],
      };
      expect(textAt((await asOther("POST", bindings, admin)).json, "message")).toBe(
        'rolebindings.rbac.authorization.k8s.io "mine" is forbidden: user "other" ' +
          '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently ' +
          'held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n' +
          '{NonResourceURLs:["*"], Verbs:["*"]}',
      );
      await allow([
        {
          ...writeRoles,
          verbs: ["bind"],
          resources: ["clusterroles"],
          resourceNames: ["cluster-admin"],
        },
      ]);
      expect((await asOther("POST", bindings, admin)).status).toBe(201);
    }));

  test("a user with escalate may write any role, but aggregated roles are for administrators", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      await allow([writeRoles]);
      const selectors = [{ matchLabels: { a: "b" } }];
      const sum = {
        metadata: { name: "sum" },
        aggregationRule: { clusterRoleSelectors: selectors },
      };
      expect(textAt((await asOther("POST", `${rbac}/clusterroles`, sum)).json, "message")).toBe(
        'clusterroles.rbac.authorization.k8s.io "sum" is forbidden: must have cluster-admin ' +
          "privileges to use the aggregationRule",
      );
      await allow([{ ...writeRoles, verbs: ["escalate"] }]);
      expect((await asOther("POST", `${rbac}/clusterroles`, sum)).status).toBe(201);
    }));

  test("the role of a binding cannot be changed at all", () =>
    inAccessWorld(async ({ call, allow }) => {
      await allow([readPods]);
      const reply = await call(
        "PATCH",
        `${rbac}/clusterrolebindings/given-1`,
        { roleRef: { name: "x" } },
        { contentType: "application/merge-patch+json" },
      );
      expect(textAt(reply.json, "message")).toBe(
        'ClusterRoleBinding.rbac.authorization.k8s.io "given-1" is invalid: roleRef: Invalid value: ' +
          '{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"x"}: cannot change ' +
          "roleRef",
      );
    }));
});

describe("impersonation", () => {
  const headers = { "impersonate-user": "bob", "impersonate-group": "devs, ops" };

  test("needs permission, and the rights are those of the impersonated user", () =>
    inAccessWorld(async ({ call, asOther, allow }) => {
      expect(textAt((await asOther("GET", pods, undefined, { headers })).json, "message")).toBe(
        'users "bob" is forbidden: User "other" cannot impersonate resource "users" in API group ' +
          '"" at the cluster scope',
      );
      await allow([{ apiGroups: [""], resources: ["users"], verbs: ["impersonate"] }]);
      expect(textAt((await asOther("GET", pods, undefined, { headers })).json, "message")).toBe(
        'groups "devs" is forbidden: User "other" cannot impersonate resource "groups" in API ' +
          'group "" at the cluster scope',
      );
      expect(textAt((await call("GET", pods, undefined, { headers })).json, "message")).toBe(
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the ' +
          'namespace "default"',
      );
    }));

  test("since 1.36 can be allowed for some requests only", () =>
    inAccessWorld(
      async ({ asOther, allow }) => {
        const message = async (path: string, user: string): Promise<string> => {
          const named = { headers: { "impersonate-user": user } };
          return textAt((await asOther("GET", path, undefined, named)).json, "message");
        };
        expect(await message(pods, "bob")).toBe(
          'pods is forbidden: User "other" cannot impersonate-on:user-info:list resource "pods" in ' +
            'API group "" in the namespace "default"',
        );
        await allow([
          {
            apiGroups: ["authentication.k8s.io"],
            resources: ["users"],
            verbs: ["impersonate:user-info"],
          },
          { apiGroups: [""], resources: ["pods"], verbs: ["impersonate-on:user-info:list"] },
        ]);
        expect(await message(pods, "bob")).toBe(
          'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the ' +
            'namespace "default"',
        );
        expect(await message(`${pods}/a`, "bob")).toBe(
          'pods "a" is forbidden: User "other" cannot impersonate-on:user-info:get resource "pods" ' +
            'in API group "" in the namespace "default"',
        );
        expect(await message(pods, "system:node:a")).toBe(
          'pods is forbidden: User "other" cannot impersonate-on:arbitrary-node:list resource ' +
            '"pods" in API group "" in the namespace "default"',
        );
      },
      { gitVersion: "v1.36.0" },
    ));

  test("without a user name is refused", () =>
    inAccessWorld(async ({ call }) => {
      const nameless = { headers: { "impersonate-group": "devs", "impersonate-uid": "7" } };
      expect((await call("GET", pods, undefined, nameless)).json).toEqual(
        failure(
          400,
          "BadRequest",
          "requested [{Group  devs    } {UID  7  authentication.k8s.io/v1  }] without " +
            "impersonating a user",
        ),
      );
    }));

  test("shows in a SelfSubjectReview", () =>
    inAccessWorld(async ({ call }) => {
      const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
      const more = { ...headers, "impersonate-extra-scopes%2fa": "read" };
      expect((await call("POST", path, {}, { headers: more })).json).toEqual({
        kind: "SelfSubjectReview",
        apiVersion: "authentication.k8s.io/v1",
        metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
        status: {
          userInfo: {
            username: "bob",
            groups: ["devs", "ops", "system:authenticated"],
            extra: { "scopes/a": ["read"] },
          },
        },
      });
    }));
});
