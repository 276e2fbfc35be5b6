import { expect, it } from "vitest";
import { grpcRoute, httpRoute, referenceGrant } from "../../../../tests/gateway/gateway-objects.ts";
import { ReferenceGrants } from "./reference-grants.ts";
import { backendsOfRule, mirrorsOfRule } from "./route-backends.ts";

function mirrorsOf(
  mirrors: readonly object[],
  { to = [{ group: "", kind: "Service" }], areImportsInstalled = true } = {},
): ReturnType<typeof mirrorsOfRule> | undefined {
  const filters = mirrors.map((requestMirror) => ({ type: "RequestMirror", requestMirror }));
  const route = httpRoute({ name: "web" }, { rules: [{ filters }] });
  const [rule] = route.rules;
  const from = [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }];
  const grant = referenceGrant({ namespace: "open", name: "all" }, { from, to });
  const hasService = (_: string, name: string) => name !== "missing";
  const appProtocols = new Map([[82, "kubernetes.io/h2c"]]);
  const importOf = (_: string, name: string) =>
    areImportsInstalled ? { isThere: name !== "missing", appProtocols } : undefined;
  const facts = { grants: new ReferenceGrants([grant]), hasService, importOf };
  return rule && mirrorsOfRule(rule, route, facts);
}

const to = (name: string, more: object = {}) => ({ backendRef: { name, port: 80, ...more } });

it("sends copies to each service, or to a share of the requests", () => {
  const mirrors = [
    to("one"),
    { ...to("one"), percent: 7 },
    { ...to("two", { namespace: "open" }), fraction: { numerator: 2, denominator: 3 } },
    { ...to("three"), fraction: { numerator: 5 } },
    { ...to("none"), percent: 0 },
  ];
  expect(mirrorsOf(mirrors)).toMatchObject({
    mirrors: [
      { service: "infra/one:80" },
      { service: "infra/one:80", weight: 7, weightTotal: 100 },
      { service: "open/two:80", weight: 2, weightTotal: 3 },
      { service: "infra/three:80", weight: 5, weightTotal: 100 },
    ],
    problems: [],
  });
});

const serviceImport = { group: "multicluster.x-k8s.io", kind: "ServiceImport" };

it("takes a ServiceImport for a backend of its own, which needs a grant for its kind", () => {
  const mirrors = [
    to("one"),
    to("one", serviceImport),
    to("missing", serviceImport),
    to("one", { ...serviceImport, namespace: "open" }),
    to("one", { ...serviceImport, group: "" }),
  ];
  const found = mirrorsOf(mirrors);
  expect(found?.mirrors.map(({ service }) => service)).toEqual([
    "infra/one:80",
    "infra/one:80.import",
  ]);
  expect(found?.problems).toEqual([
    {
      reason: "BackendNotFound",
      message: 'backend "infra/missing": there is no such ServiceImport',
    },
    { reason: "RefNotPermitted", message: 'backend "open/one": no ReferenceGrant allows it' },
    {
      reason: "InvalidKind",
      message: 'backend "infra/one": only Services and ServiceImports are supported',
    },
  ]);
  const granted = mirrorsOf([to("one", { ...serviceImport, namespace: "open" })], {
    to: [serviceImport],
  });
  expect(granted?.mirrors).toEqual([{ service: "open/one:80.import" }]);
  const [problem] = mirrorsOf([to("one", { ...serviceImport, port: 82 })])?.problems ?? [];
  expect(problem?.reason).toBe("UnsupportedProtocol");
});

it("refuses ServiceImports as an invalid kind where they are not installed", () => {
  const found = mirrorsOf([to("one", serviceImport)], { areImportsInstalled: false });
  expect(found?.problems).toEqual([
    { reason: "InvalidKind", message: 'backend "infra/one": ServiceImports are not installed' },
  ]);
});

it("sends none to a service that is missing, that no grant allows, or that is none", () => {
  const mirrors = [
    to("missing"),
    to("web", { namespace: "closed" }),
    to("web", { kind: "Bucket", group: "store.example" }),
    to("web", { port: 0 }),
  ];
  const found = mirrorsOf(mirrors);
  expect(found?.mirrors).toEqual([]);
  expect(found?.backends).toEqual([]);
  expect(found?.problems.map(({ reason }) => reason)).toEqual([
    "BackendNotFound",
    "RefNotPermitted",
    "InvalidKind",
    "BackendNotFound",
  ]);
});

it.each([
  ["HTTPRoute", httpRoute, ["http", "h2c", "kubernetes.io/ws", undefined]],
  ["GRPCRoute", grpcRoute, ["http", "h2c", "kubernetes.io/h2c", undefined]],
] as const)(
  "sends nothing to a port with a standard protocol that endpoints of %ss do not get",
  (_, make, spoken) => {
    const standard = ["kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss"];
    const served = ["http", "h2c", ...standard, undefined].filter((appProtocol) => {
      const route = make({ name: "web" }, { rules: [{ backendRefs: [{ name: "a", port: 80 }] }] });
      const [rule = { backendRefs: [] }] = route.rules;
      const { backend, problems } = backendsOfRule(rule, route, {
        grants: new ReferenceGrants([]),
        hasService: () => true,
        appProtocol: (namespace, name, port) =>
          `${namespace}/${name}:${port}` === "infra/a:80" ? appProtocol : undefined,
      });
      const reasons = problems.map(({ reason }) => reason);
      expect(reasons).toEqual(backend === undefined ? ["UnsupportedProtocol"] : []);
      return backend !== undefined;
    });
    expect(served).toEqual(spoken);
  },
);
