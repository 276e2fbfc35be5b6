import { describe, expect, test } from "vitest";
import { inAccessWorld } from "../../../tests/apiserver/access-world.ts";
import { failure } from "../../../tests/apiserver/api-world.ts";
import { valueAt } from "../kinds/fields.ts";

const authorization = "/apis/authorization.k8s.io/v1";
const readPods = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] };
const getPods = { verb: "get", resource: "pods", namespace: "default" };

describe("a review", () => {
  test("of the own access has the decision of the server", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      const path = `${authorization}/selfsubjectaccessreviews`;
      const question = { spec: { resourceAttributes: getPods } };
      const { status, json } = await asOther("POST", path, question);
      expect({ status, answer: valueAt(json, "status") }).toEqual({
        status: 201,
        answer: { allowed: false },
      });
      await allow([readPods], "default");
      expect(valueAt((await asOther("POST", path, question)).json, "status")).toEqual({
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "given-1/default" of Role "given-1" to User "other"',
      });
      expect((await asOther("POST", path, { spec: {} })).json).toEqual(
        failure(
          422,
          "Invalid",
          '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: ' +
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
          {
            group: "authorization.k8s.io",
            causes: [
              {
                reason: "FieldValueInvalid",
                message:
                  "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes " +
                  "must be specified",
                field: "spec.resourceAttributes",
              },
            ],
          },
        ),
      );
    }));

  test("of the access of another user needs permission", () =>
    inAccessWorld(async ({ call, asOther, allow }) => {
      await allow([readPods], "default");
      const question = { spec: { user: "other", resourceAttributes: getPods } };
      const path = `${authorization}/subjectaccessreviews`;
      expect(valueAt((await call("POST", path, question)).json, "status", "allowed")).toBe(true);
      expect((await asOther("POST", path, question)).status).toBe(403);
      const local = `${authorization}/namespaces/kube-system/localsubjectaccessreviews`;
      expect(valueAt((await call("POST", local, question)).json, "message")).toBe(
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: ' +
          '"default": must match metadata.namespace',
      );
    }));

  test("of rules lists all that roles give in a namespace", () =>
    inAccessWorld(async ({ asOther, allow }) => {
      await allow([{ ...readPods, resourceNames: ["a"] }], "default");
      const question = { spec: { namespace: "default" } };
      const { json } = await asOther("POST", `${authorization}/selfsubjectrulesreviews`, question);
      const paths = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
      const documents = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi"];
      expect(valueAt(json, "status")).toEqual({
        resourceRules: [
          {
            verbs: ["create"],
            apiGroups: ["authorization.k8s.io"],
            resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
          },
          {
            verbs: ["create"],
            apiGroups: ["authentication.k8s.io"],
            resources: ["selfsubjectreviews"],
          },
          { ...readPods, resourceNames: ["a"] },
        ],
        nonResourceRules: [
          {
            verbs: ["get"],
            nonResourceURLs: [...documents, "/openapi/*", "/readyz", "/version", "/version/"],
          },
          { verbs: ["get"], nonResourceURLs: paths },
        ],
        incomplete: false,
      });
    }));

  test("of a token has its user", () =>
    inAccessWorld(async ({ call }) => {
      const path = "/apis/authentication.k8s.io/v1/tokenreviews";
      const review = async (spec: object): Promise<unknown> =>
        valueAt((await call("POST", path, { spec })).json, "status");
      expect(await review({ token: "other-token" })).toEqual({
        authenticated: true,
        user: { username: "other", groups: ["system:authenticated"] },
        audiences: ["https://kubernetes.default.svc"],
      });
      expect(await review({ token: "nope" })).toEqual({ user: {}, error: "invalid bearer token" });
      expect((await call("POST", path, { spec: {} })).json).toEqual(
        failure(400, "BadRequest", "token is required for TokenReview in authentication"),
      );
    }));

  test("can only be created", () =>
    inAccessWorld(async ({ call }) => {
      const path = `${authorization}/selfsubjectaccessreviews`;
      expect((await call("GET", path)).status).toBe(405);
      expect((await call("GET", `${path}/x`)).status).toBe(404);
    }));
});
