import { describe, expect, test } from "vitest";
import { type Attributes, attributesOf } from "./attributes.ts";
import { describeRights, readRule, ruleAllows, uncovered } from "./policy-rule.ts";

const ask = (method: string, target: string): Attributes => attributesOf(method, target);

const inDefault = "/api/v1/namespaces/default";

describe("a rule allows", () => {
  const pods = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] };
  test.each([
    [pods, "GET", `${inDefault}/pods/a`, true],
    [pods, "GET", `${inDefault}/pods?limit=5`, true],
    [pods, "GET", `${inDefault}/pods?watch=true`, false],
    [pods, "POST", `${inDefault}/pods`, false],
    [pods, "GET", `${inDefault}/pods/a/log`, false],
    [pods, "GET", "/apis/metrics.k8s.io/v1/pods", false],
    [{ ...pods, resources: ["pods/log"] }, "GET", `${inDefault}/pods/a/log`, true],
    [{ ...pods, resources: ["*/log"] }, "GET", `${inDefault}/pods/a/log`, true],
    [{ ...pods, resources: ["*/log"] }, "GET", `${inDefault}/pods/a`, false],
    [{ ...pods, resources: ["*"] }, "GET", `${inDefault}/pods/a/log`, true],
    [{ ...pods, apiGroups: ["*"], verbs: ["*"] }, "DELETE", "/apis/x.io/v1/pods", true],
    [{ ...pods, resourceNames: ["a"] }, "GET", `${inDefault}/pods/a`, true],
    [{ ...pods, resourceNames: ["a"] }, "GET", `${inDefault}/pods/b`, false],
    [{ ...pods, resourceNames: ["a"] }, "GET", `${inDefault}/pods`, false],
    [
      { ...pods, resourceNames: ["a"] },
      "GET",
      `${inDefault}/pods?fieldSelector=metadata.name%3Da`,
      true,
    ],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }, "GET", "/healthz", true],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }, "GET", "/healthz/etcd", false],
    [{ verbs: ["get"], nonResourceURLs: ["/healthz/*"] }, "GET", "/healthz/etcd", true],
    [{ verbs: ["get"], nonResourceURLs: ["*"] }, "POST", "/healthz", false],
  ])("%j for %s %s: %s", (rule, method, target, expected) => {
    expect(ruleAllows(readRule(rule), ask(method, target))).toBe(expected);
  });
});

test("a request is read from its path, whatever resources there are", () => {
  expect(ask("DELETE", "/apis/x.io/v1/namespaces/a/things")).toEqual({
    type: "resource",
    verb: "deletecollection",
    group: "x.io",
    version: "v1",
    resource: "things",
    subresource: "",
    namespace: "a",
    name: "",
  });
  const finalize = ask("PUT", "/api/v1/namespaces/a/finalize");
  expect(finalize).toMatchObject({ resource: "namespaces", name: "a", subresource: "finalize" });
  expect(ask("GET", "/api/v1/namespaces/a")).toMatchObject({ namespace: "a", name: "a" });
  expect(ask("GET", "/apis/apps/v1")).toEqual({ type: "path", verb: "get", path: "/apis/apps/v1" });
});

test("missing rights are listed by resource, with their verbs together", () => {
  const held = [
    readRule({ verbs: ["get"], apiGroups: [""], resources: ["pods", "*/status"] }),
    readRule({ verbs: ["*"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["x"] }),
    readRule({ verbs: ["get"], nonResourceURLs: ["/healthz*"] }),
  ];
  const wanted = [
    readRule({
      verbs: ["get", "list"],
      apiGroups: ["", "apps"],
      resources: ["pods", "pods/status"],
    }),
    readRule({
      verbs: ["get"],
      apiGroups: [""],
      resources: ["configmaps"],
      resourceNames: ["x", "y"],
    }),
    readRule({ verbs: ["delete"], apiGroups: [""], resources: ["configmaps"] }),
    readRule({ verbs: ["get"], nonResourceURLs: ["/healthz/etcd", "/metrics"] }),
  ];
  expect(describeRights(uncovered(held, wanted))).toEqual([
    '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["y"], Verbs:["get"]}',
    '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}',
    '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
    '{APIGroups:[""], Resources:["pods/status"], Verbs:["list"]}',
    '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:["apps"], Resources:["pods/status"], Verbs:["get" "list"]}',
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
  ]);
});
