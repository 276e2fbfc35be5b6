import { describe, expect, test } from "vitest";
import type { ExternalAuth } from "../../../route-policy.ts";
import { annotated, ingress, path, routed } from "../../asked.contract.ts";
import { Routing } from "../../routing.ts";
import { type Annotations, read } from "../annotations.contract.ts";

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
    problems: ["AnnotationIgnored: auth-signin: $http_evil cannot stand in it, so it is ignored"],
  });
  expect(read({ "auth-method": "GET", "auth-signin": "https://a.example/" })).toEqual({
    policy: {},
    problems: ["auth-method", "auth-signin"].map(
      (name) => `AnnotationIgnored: ${name}: without auth-url it does nothing, so it is ignored`,
    ),
  });
});

test("whoever is asked is a backend like others, and its absence is told", () => {
  const rules = [{ host: "a.example", paths: [path("/", "web")] }];
  const routing = new Routing({ className: "lockstep" });
  const asked = [ingress("guarded", rules, annotated({ "auth-url": url }))];
  const { backends } = routing.decide({ ingresses: asked, classes: [] });
  expect([...backends.keys()]).toEqual(["shop/web:80", "tools/auth:80"]);
  expect([...routing.originsOf("tools/auth:80")].map(({ name }) => name)).toEqual(["guarded"]);
});

test("a host that no route leads from is told until one does", () => {
  const rules = (host: string) => [{ host, paths: [path("/", "web")] }];
  const guarded = ingress("guarded", rules("a.example"), {
    ...annotated({ "auth-url": "https://SSO.example:8443/auth" }),
  });
  const told = [
    "guarded: annotation auth-url: no route here leads from the host sso.example, so every request " +
      "is answered with 503; name a service, as in http://auth.tools.svc/check, or a host that an " +
      "Ingress has",
  ];
  const problemsWith = (...hosts: readonly string[]) =>
    routed([guarded, ...hosts.map((host, index) => ingress(`i${index}`, rules(host)))]).problems;
  expect([
    problemsWith(),
    problemsWith("b.example"),
    problemsWith("sso.example"),
    problemsWith("*.example"),
    problemsWith(""),
  ]).toEqual([told, told, [], [], []]);
});
