// The server as a whole over the simulated network: refusals, lists, watches, discovery, metrics.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../tests/apiserver/api-world.ts";
import { allKinds } from "./kinds/all-kinds.ts";
import { objectsAt, textAt } from "./kinds/fields.ts";

const json = { accept: "application/json" };

describe("requests are refused", () => {
  const unknown = failure(404, "NotFound", "the server could not find the requested resource", {});
  const notAllowed = failure(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
  const cases: readonly { why: string; method: string; path: string; expected: object }[] = [
    { why: "for an unknown version", method: "GET", path: "/apis/apps/v9", expected: unknown },
    { why: "for an unknown resource", method: "GET", path: "/api/v1/things", expected: unknown },
    {
      why: "for an unknown resource of a group",
      method: "GET",
      path: "/apis/apps/v1/things",
      expected: unknown,
    },
    {
      why: "for an unknown subresource",
      method: "GET",
      path: `${pods}/a/nothing`,
      expected: unknown,
    },
    {
      why: "for a name across namespaces",
      method: "GET",
      path: "/api/v1/pods/a",
      expected: unknown,
    },
    { why: "for PUT on a collection", method: "PUT", path: pods, expected: notAllowed },
    { why: "for POST on an object", method: "POST", path: `${pods}/a`, expected: notAllowed },
    {
      why: "for POST across namespaces",
      method: "POST",
      path: "/api/v1/pods",
      expected: notAllowed,
    },
    {
      why: "for a field that cannot be selected by",
      method: "GET",
      path: `${pods}?fieldSelector=spec.dnsPolicy%3DNone`,
      expected: failure(400, "BadRequest", "field label not supported: spec.dnsPolicy"),
    },
    {
      why: "for a limit that is not a number",
      method: "GET",
      path: `${pods}?limit=some`,
      expected: failure(400, "BadRequest", 'strconv.ParseInt: parsing "some": invalid syntax'),
    },
    {
      why: "for a missing object",
      method: "GET",
      path: "/apis/apps/v1/namespaces/default/deployments/a",
      expected: failure(404, "NotFound", 'deployments.apps "a" not found', {
        name: "a",
        group: "apps",
        kind: "deployments",
      }),
    },
  ];
  test.each(cases)("$why", ({ method, path, expected }) =>
    inApiWorld(async ({ call }) => {
      const reply = await call(method, path);
      expect(reply.json).toEqual(expected);
      expect(reply.status).toBe(Reflect.get(expected, "code"));
    }),
  );

  test.each(["/nothing", "/apis/x.io/v1/pods"])(
    "by a plain page for %s, which is not served",
    (path) =>
      inApiWorld(async ({ call }) => {
        const { status, text, headers } = await call("GET", path);
        expect({ status, text, type: headers["content-type"] }).toEqual({
          status: 404,
          text: "404 page not found\n",
          type: "text/plain; charset=utf-8",
        });
      }),
  );

  test("without a known token, except for health and version", () =>
    inApiWorld(async ({ call }) => {
      for (const token of ["", "wrong"]) {
        expect((await call("GET", pods, undefined, { token })).json).toEqual(
          failure(401, "Unauthorized", "Unauthorized"),
        );
      }
      expect((await call("GET", "/readyz", undefined, { token: "" })).text).toBe("ok");
      const version = await call("GET", "/version", undefined, { token: "" });
      expect(version.json).toMatchObject({ major: "1", minor: "33", gitVersion: "v1.33.1" });
    }));

  test("for a slash after the path, except after the paths of documents", () =>
    inApiWorld(async ({ call }) => {
      const statusOf = async (path: string) => `${path} ${(await call("GET", path)).status}`;
      const documents = [
        "/version/",
        "/api/",
        "/apis/",
        "/api/v1/",
        "/apis/apps/",
        "/apis/apps/v1/",
      ];
      for (const path of documents) expect(await statusOf(path)).toBe(`${path} 200`);
      const others = ["/healthz/", "/livez/ping/", "/metrics/", "/openapi/v2/", "/openapi/v3/"];
      for (const path of others) expect(await statusOf(path)).toBe(`${path} 404`);
    }));

  test("when the client accepts only what the server does not speak", () =>
    inApiWorld(async ({ call }) => {
      const accept = "application/vnd.kubernetes.protobuf";
      expect((await call("GET", pods, undefined, { headers: { accept } })).json).toEqual(
        failure(
          406,
          "NotAcceptable",
          "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
      );
      const yaml = await call("GET", "/api/v1/namespaces/default", undefined, {
        headers: { accept: "application/yaml" },
      });
      expect(yaml.text.split("\n").slice(0, 2)).toEqual(["apiVersion: v1", "kind: Namespace"]);
    }));
});

test("a new cluster has the four namespaces, however many servers start on it", () =>
  inApiWorld(async ({ call, addServer }) => {
    await addServer("second");
    const { json: list } = await call("GET", "/api/v1/namespaces", undefined, { host: "second" });
    expect(objectsAt(list, "items").map((item) => textAt(item, "metadata", "name"))).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
  }));

test("a list answers with items and a version, chosen by selectors", () =>
  inApiWorld(async ({ call }) => {
    for (const name of ["a", "b", "c"]) {
      await call("POST", pods, pod(name, { nodeName: `node-${name}` }));
    }
    const names = async (query: string) => {
      const reply = await call("GET", `${pods}?${query}`, undefined, { headers: json });
      return objectsAt(reply.json, "items").map((item) => textAt(item, "metadata", "name"));
    };
    expect(await names("labelSelector=app!=a")).toEqual(["b", "c"]);
    expect(await names("labelSelector=app%20notin%20(a,b)")).toEqual(["c"]);
    expect(await names("fieldSelector=spec.nodeName%3Dnode-b")).toEqual(["b"]);
    expect(await names("fieldSelector=metadata.name!%3Da,status.phase%3DPending")).toEqual([
      "b",
      "c",
    ]);
    expect(await names("limit=2")).toEqual(["a", "b"]);
    const whole = await call("GET", pods);
    expect(whole.json).toMatchObject({
      kind: "PodList",
      apiVersion: "v1",
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
    });
  }));

test("a watch on one server shows what is written through another", () =>
  inApiWorld(async ({ call, open, addServer }) => {
    await addServer("second");
    const response = await open(`${pods}?watch=true&resourceVersion=0`, { host: "second" });
    expect(response.status).toBe(200);
    await call("POST", pods, pod("a", { nodeName: "n" }));
    await call("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    const seen: string[] = [];
    let rest = "";
    for await (const chunk of response.body) {
      rest += Buffer.from(chunk).toString("utf8");
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event: unknown = JSON.parse(line);
        const grace = textAt(event, "object", "metadata", "deletionTimestamp");
        seen.push(`${textAt(event, "type")} ${grace === "" ? "alive" : "terminating"}`);
      }
      if (seen.length >= 3) {
        break;
      }
    }
    expect(seen).toEqual(["ADDED alive", "MODIFIED terminating", "DELETED terminating"]);
  }));

test("discovery lists every group and resource", () =>
  inApiWorld(async ({ call }) => {
    expect((await call("GET", "/api")).json).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [],
    });
    const groups = await call("GET", "/apis");
    expect(objectsAt(groups.json, "groups").map((group) => group["name"])).toEqual([
      "apps",
      "coordination.k8s.io",
      "discovery.k8s.io",
      "events.k8s.io",
      "networking.k8s.io",
      "rbac.authorization.k8s.io",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "apiextensions.k8s.io",
    ]);
    const core = await call("GET", "/api/v1");
    expect(objectsAt(core.json, "resources").map((resource) => resource["name"])).toEqual([
      "configmaps",
      "endpoints",
      "events",
      "namespaces",
      "namespaces/status",
      "namespaces/finalize",
      "nodes",
      "nodes/status",
      "pods",
      "pods/status",
      "pods/log",
      "pods/proxy",
      "pods/binding",
      "pods/eviction",
      "replicationcontrollers",
      "replicationcontrollers/status",
      "replicationcontrollers/scale",
      "secrets",
      "serviceaccounts",
      "serviceaccounts/token",
      "services",
      "services/status",
    ]);
    expect((await call("GET", "/apis/discovery.k8s.io/v1")).json).toEqual({
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: "discovery.k8s.io/v1",
      resources: [
        {
          name: "endpointslices",
          singularName: "endpointslice",
          namespaced: true,
          kind: "EndpointSlice",
          verbs: [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
          ],
        },
      ],
    });
  }));

test("metrics count requests under the real names", () =>
  inApiWorld(async ({ call }) => {
    await call("POST", pods, pod("a"));
    await call("POST", pods, pod("a"));
    const { text } = await call("GET", "/metrics");
    const lines = text.split("\n").filter((line) => line.startsWith("apiserver_request_total"));
    const place =
      'dry_run="",group="",resource="pods",scope="namespace",subresource="",verb="POST",version="v1"';
    expect(lines).toEqual([
      `apiserver_request_total{code="201",component="apiserver",${place}} 1`,
      `apiserver_request_total{code="409",component="apiserver",${place}} 1`,
    ]);
    expect(text).toContain('apiserver_current_inflight_requests{request_kind="readOnly"} 1');
  }));

test("a server of an old version has fewer kinds, in discovery and on its paths", async () => {
  const kinds = allKinds.filter(({ group }) => group !== "discovery.k8s.io");
  await inApiWorld(
    async ({ call }) => {
      const { json: groups } = await call("GET", "/apis");
      const names = objectsAt(groups, "groups").map((group) => textAt(group, "name"));
      expect(names).toContain("networking.k8s.io");
      expect(names).not.toContain("discovery.k8s.io");
      const { status } = await call("GET", "/apis/discovery.k8s.io/v1/endpointslices");
      expect(status).toBe(404);
    },
    { kinds },
  );
});
