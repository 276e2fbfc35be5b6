import { describe, expect, test } from "vitest";
import { type Annotations, read } from "../../../../../tests/routing/read-annotations.ts";
import { annotated, ingress, path, routed } from "../../../../../tests/routing/short-ingress.ts";
import type { Ingress } from "../../../../kube/kinds/ingress.ts";
import type { ExternalAuth } from "../../../route-policy.ts";
import { Routing } from "../../routing.ts";

const guard = { namespace: "tools", name: "auth", port: 80 };
const byService: ExternalAuth = { service: "tools/auth:80", host: "auth.tools.svc", path: "/" };
const back = "$pass_access_scheme://$http_host$escaped_request_uri";
const url = "http://auth.tools.svc/";

describe("who is asked", () => {
  test.each<[string, ExternalAuth]>([
    ["http://auth.tools.svc", byService],
    [
      "http://auth.tools.svc.cluster.local:4180/check?x=$escaped_request_uri",
      {
        service: "tools/auth:4180",
        host: "auth.tools.svc.cluster.local:4180",
        path: "/check?x=$escaped_request_uri",
      },
    ],
    [
      "https://auth.tools.svc/",
      { service: "tools/auth:443", host: "auth.tools.svc", path: "/", tls: true },
    ],
    ["http://auth.tools.svc?code=200", { ...byService, path: "/?code=200" }],
    ["https://$host/oauth2/auth", { host: "$host", path: "/oauth2/auth" }],
    ["https://sso.example:8443/auth", { host: "sso.example:8443", path: "/auth" }],
  ])("%s", (text, externalAuth) => {
    const { policy, settings, problems } = read({ "auth-url": text });
    expect([policy, problems]).toEqual([{ externalAuth }, []]);
    const { namespace, name, port } = settings?.guard ?? {};
    const key = settings?.guard && `${namespace}/${name}:${port}`;
    expect(key).toBe(externalAuth.service);
  });
});

describe("what is done with the answer", () => {
  test.each<[Annotations, Partial<ExternalAuth>]>([
    [{ "auth-method": "POST" }, { method: "POST" }],
    [
      { "auth-response-headers": "X-User,  X-Groups," },
      { responseHeaders: ["X-User", "X-Groups"] },
    ],
    [{ "auth-request-redirect": "/home" }, { requestRedirect: "/home" }],
    [{ "auth-always-set-cookie": "true" }, {}],
    [
      { "auth-signin": "https://$host/oauth2/start" },
      { signIn: `https://$host/oauth2/start?rd=${back}` },
    ],
    [{ "auth-signin": "https://a.example/?x=1" }, { signIn: `https://a.example/?x=1&rd=${back}` }],
    [
      { "auth-signin": "https://a.example/", "auth-signin-redirect-param": "to" },
      { signIn: `https://a.example/?to=${back}` },
    ],
    [
      { "auth-signin": "https://a.example/?rd=$escaped_request_uri" },
      { signIn: "https://a.example/?rd=$escaped_request_uri" },
    ],
  ])("%j", (annotations, externalAuth) => {
    expect(read({ "auth-url": url, ...annotations })).toEqual({
      policy: { externalAuth: { ...byService, ...externalAuth } },
      settings: { guard },
      problems: [],
    });
  });
});

test("what only says where to go is left out when it is wrong, and nothing of it counts alone", () => {
  expect(read({ "auth-url": url, "auth-signin": "$http_evil" })).toEqual({
    policy: { externalAuth: byService },
    settings: { guard },
    problems: [
      "AnnotationIgnored: auth-signin: the variable $http_evil is not supported here, so it " +
        "is ignored",
    ],
  });
  expect(read({ "auth-method": "GET", "auth-signin": "https://a.example/" })).toEqual({
    policy: {},
    problems: ["auth-method", "auth-signin"].map(
      (name) => `AnnotationIgnored: ${name}: it needs auth-url, so it is ignored`,
    ),
  });
});

describe("between namespaces", () => {
  const rules = [{ host: "a.example", paths: [path("/", "web")] }];
  /** The policy of the one route and the problems, where the operator lets these be asked. */
  const decided = (
    annotations: Annotations,
    authNamespaces: readonly string[] = [],
    others: readonly Ingress[] = [],
  ) => {
    const asked = [ingress("guarded", rules, annotated(annotations)), ...others];
    const routing = new Routing({ className: "lockstep", authNamespaces });
    const { hosts, problems } = routing.decide({ ingresses: asked, classes: [] });
    const { closed, externalAuth } = hosts.get("a.example")?.[0]?.policy ?? {};
    return {
      ...(closed && { closed }),
      ...(externalAuth && { asks: externalAuth.service ?? externalAuth.namespaces }),
      problems: problems.map(({ reason, message }) => `${reason}: ${message}`),
    };
  };

  test("a service of the own namespace is asked, others where the operator says so", () => {
    const asks = "tools/auth:80";
    const refused = {
      closed: true,
      problems: [
        "RouteClosed: annotation auth-url: the service is in namespace tools, which " +
          "--auth-namespace does not allow, so every request is answered with 503",
      ],
    };
    expect([
      decided({ "auth-url": "http://auth.shop.svc/" }),
      decided({ "auth-url": url }),
      decided({ "auth-url": url }, ["elsewhere"]),
      decided({ "auth-url": url }, ["tools"]),
      decided({ "auth-url": url }, ["*"]),
    ]).toEqual([
      { asks: "shop/auth:80", problems: [] },
      refused,
      refused,
      { asks, problems: [] },
      { asks, problems: [] },
    ]);
  });

  test("a host is asked where its routes are of one of these namespaces", () => {
    const byHost = { "auth-url": "https://sso.example/auth" };
    const sso = ingress("sso", [{ host: "sso.example", paths: [path("/", "sso")] }], {
      namespace: "tools",
    });
    expect([decided(byHost, [], [sso]), decided(byHost, ["tools"], [sso])]).toEqual([
      {
        asks: ["shop"],
        problems: [
          "RouteClosed: annotation auth-url: host sso.example belongs to namespace tools, " +
            "which --auth-namespace does not allow, so every request is answered with 503",
        ],
      },
      { asks: ["shop", "tools"], problems: [] },
    ]);
  });

  test("only a service of the own namespace is asked by a method that changes something", () => {
    const refused = (method: string) => [
      `RouteClosed: annotation auth-method: ${method} works only with a service in the ` +
        "namespace of the Ingress, so every request is answered with 503",
    ];
    const own = { "auth-url": "http://auth.shop.svc/" };
    expect([
      decided({ ...own, "auth-method": "DELETE" }).problems,
      decided({ "auth-url": url, "auth-method": "DELETE" }, ["tools"]).problems,
      decided({ "auth-url": "https://$host/auth", "auth-method": "POST" }).problems,
      decided({ "auth-url": url, "auth-method": "HEAD" }, ["tools"]).problems,
    ]).toEqual([[], refused("DELETE"), refused("POST"), []]);
  });
});

test("hop-by-hop headers of an answer are not for endpoints", () => {
  const names = ["Connection", "Proxy-Authenticate", "proxy-authorization", "Proxy-Connection"];
  for (const name of names) {
    const { policy } = read({ "auth-url": url, "auth-response-headers": `X-User,${name}` });
    expect(policy).toEqual({ closed: true });
  }
});

test("the auth service is a backend like others, and its absence is reported", () => {
  const rules = [{ host: "a.example", paths: [path("/", "web")] }];
  const routing = new Routing({ className: "lockstep", authNamespaces: ["tools"] });
  const asked = [ingress("guarded", rules, annotated({ "auth-url": url }))];
  const { backends } = routing.decide({ ingresses: asked, classes: [] });
  expect([...backends.keys()]).toEqual(["shop/web:80", "tools/auth:80"]);
  expect([...routing.originsOf("tools/auth:80")].map(({ name }) => name)).toEqual(["guarded"]);
});

test("a host without a route is reported until it has one", () => {
  const rules = (host: string) => [{ host, paths: [path("/", "web")] }];
  const guarded = ingress("guarded", rules("a.example"), {
    ...annotated({ "auth-url": "https://SSO.example:8443/auth" }),
  });
  const problem = [
    "guarded: annotation auth-url: no Ingress here has the host sso.example, so every " +
      "request is answered with 503; name a service, as in http://auth.tools.svc/check, or a " +
      "host that an Ingress has",
  ];
  const problemsWith = (...hosts: readonly string[]) =>
    routed([guarded, ...hosts.map((host, index) => ingress(`i${index}`, rules(host)))]).problems;
  expect([
    problemsWith(),
    problemsWith("b.example"),
    problemsWith("sso.example"),
    problemsWith("*.example"),
    problemsWith(""),
  ]).toEqual([problem, problem, [], [], []]);
});
