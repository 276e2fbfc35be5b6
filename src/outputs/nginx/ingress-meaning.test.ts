// From an Ingress to the rule that serves a request: the examples of the Kubernetes documentation
// for path types and hosts, and the cases of its conformance suite, as one table.
import { describe, expect, test } from "vitest";
import { ingress, path } from "../../../tests/routing/short-ingress.ts";
import { Routing } from "../../decide/routing/routing.ts";
import type { IngressRule } from "../../kube/kinds/ingress.ts";
import { compileHost, findRule } from "./route-match.ts";

/** The service that gets the request; undefined for 404. */
function served(
  rules: readonly IngressRule[],
  request: string,
  defaultService?: string,
): string | undefined {
  const defaultBackend =
    defaultService === undefined
      ? {}
      : { defaultBackend: { service: { name: defaultService, port: 80 } } };
  const ingresses = [ingress("own", rules, defaultBackend)];
  const { hosts } = new Routing({ className: "lockstep" }).decide({ ingresses, classes: [] });
  const [host = "", ...rest] = request.split("/");
  const find = (name: string) => {
    const found = hosts.get(name);
    return found && compileHost(found);
  };
  return findRule(find, host, `/${rest.join("/")}`)?.rule.service.replace(/^shop\/(.*):80$/, "$1");
}

/** `Prefix /a` leads to a service `s0`, the next one to `s1`, and so on. */
function rulesOf(paths: readonly string[], host = "h"): readonly IngressRule[] {
  return [
    {
      host,
      paths: paths.map((text, index) => {
        const [pathType, own = ""] = text.split(" ");
        return path(own, `s${index}`, pathType);
      }),
    },
  ];
}

describe("paths", () => {
  test.each<[readonly string[], string, number | undefined]>([
    [["Prefix /"], "/", 0],
    [["Prefix /"], "/any/path", 0],
    [["Exact /foo"], "/foo", 0],
    [["Exact /foo"], "/bar", undefined],
    [["Exact /foo"], "/foo/", undefined],
    [["Exact /foo"], "/FOO", undefined],
    [["Exact /foo/"], "/foo", undefined],
    [["Exact /foo/"], "/foo/", 0],
    [["Prefix /foo"], "/foo", 0],
    [["Prefix /foo"], "/foo/", 0],
    [["Prefix /foo"], "/FOO", undefined],
    [["Prefix /foo/"], "/foo", 0],
    [["Prefix /foo/"], "/foo/", 0],
    [["Prefix /aaa/bb"], "/aaa/bbb", undefined],
    [["Prefix /aaa/bbb"], "/aaa/bbb", 0],
    [["Prefix /aaa/bbb/"], "/aaa/bbb", 0],
    [["Prefix /aaa/bbb/"], "/aaa/bbb/", 0],
    [["Prefix /aaa/bbb"], "/aaa/bbb/", 0],
    [["Prefix /aaa/bbb"], "/aaa/bbb/ccc", 0],
    [["Prefix /aaa/bbb"], "/aaa/bbbxyz", undefined],
    [["Prefix /aaa"], "/aaaccc", undefined],
    [["Prefix /", "Prefix /aaa"], "/aaa/ccc", 1],
    [["Prefix /aaa/bbb", "Prefix /aaa"], "/aaa/bbb/ccc", 0],
    [["Prefix /aaa/bbb", "Prefix /aaa"], "/aaa/ccc", 1],
    [["Prefix /", "Prefix /aaa", "Prefix /aaa/bbb"], "/aaa/bbb", 2],
    [["Prefix /", "Prefix /aaa", "Prefix /aaa/bbb"], "/ccc", 0],
    [["Prefix /aaa"], "/ccc", undefined],
    [["Prefix /foo", "Exact /foo"], "/foo", 1],
    [["Prefix /foo", "Exact /foo"], "/foo/bar", 0],
    [["ImplementationSpecific /foo"], "/foo/bar", 0],
    [["ImplementationSpecific "], "/anything", 0],
  ])("%j: %s", (paths, request, index) => {
    expect(served(rulesOf(paths), `h${request}`)).toBe(
      index === undefined ? undefined : `s${index}`,
    );
  });
});

describe("hosts", () => {
  const rules = [
    { host: "*.foo.com", paths: [path("/", "wildcard")] },
    { host: "foo.bar.com", paths: [path("/", "exact")] },
    { host: "special.foo.com", paths: [path("/only", "special")] },
  ];
  test.each<[string, string | undefined]>([
    ["foo.bar.com/", "exact"],
    ["subdomain.bar.com/", undefined],
    ["bar.foo.com/", "wildcard"],
    ["baz.bar.foo.com/", undefined],
    ["foo.com/", undefined],
    ["special.foo.com/only", "special"],
    ["special.foo.com/other", "wildcard"],
  ])("%s: %s", (request, service) => {
    expect(served(rules, request)).toBe(service);
  });
});

describe("the default backend", () => {
  test.each(["my-host/", "my-host/sub-path", "some-host/resource"])(
    "of an Ingress without rules gets %s",
    (request) => {
      expect(served([], request, "fallback")).toBe("fallback");
    },
  );

  test("gets what no host and no path of its Ingress wants", () => {
    const rules = rulesOf(["Prefix /aaa"]);
    expect(served(rules, "h/aaa", "fallback")).toBe("s0");
    expect(served(rules, "h/ccc", "fallback")).toBe("fallback");
    expect(served(rules, "other/aaa", "fallback")).toBe("fallback");
  });
});
