import { expect, it } from "vitest";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import { routesOf } from "./stock-servers.ts";

interface Path {
  readonly path?: string;
  readonly pathType?: string;
  readonly service?: string;
}

function ingress(
  name: string,
  rules: readonly { readonly host?: string; readonly paths: readonly Path[] }[],
  { createdAt = "2026-01-01T00:00:00Z", defaultService = "" } = {},
): Ingress {
  const backend = (service: string) => ({ service: { name: service, port: { number: 80 } } });
  return ingressKind.project({
    metadata: {
      namespace: "shop",
      name,
      uid: name,
      resourceVersion: "1",
      creationTimestamp: createdAt,
    },
    spec: {
      rules: rules.map(({ host, paths }) => ({
        host,
        http: {
          paths: paths.map(({ path = "/", pathType = "Prefix", service = "web" }) => ({
            path,
            pathType,
            backend: backend(service),
          })),
        },
      })),
      ...(defaultService === "" ? {} : { defaultBackend: backend(defaultService) }),
    },
  });
}

/** `host: = /exact -> backend, /prefix -> backend`. */
function shown(...ingresses: readonly Ingress[]): readonly string[] {
  return routesOf(ingresses).servers.map(({ hostname, locations }) => {
    const texts = locations.map(
      ({ match, path, backend }) => `${match === "exact" ? "= " : ""}${path} -> ${backend}`,
    );
    return `${hostname}: ${texts.join(", ")}`;
  });
}

it.each([
  ["Prefix", "/", ["a.example: / -> shop-web-80"]],
  ["Prefix", "/cart", ["a.example: = /cart -> shop-web-80, /cart/ -> shop-web-80"]],
  ["Prefix", "/cart/", ["a.example: = /cart/ -> shop-web-80, /cart/ -> shop-web-80"]],
  ["Exact", "/cart", ["a.example: = /cart -> shop-web-80"]],
  ["ImplementationSpecific", "/cart", ["a.example: /cart -> shop-web-80"]],
  ["ImplementationSpecific", "", ["a.example: / -> shop-web-80"]],
])("makes locations of the type %s and the path %j", (pathType, path, expected) => {
  const paths = [{ path, pathType }];
  expect(shown(ingress("one", [{ host: "a.example", paths }]))).toEqual(expected);
});

it("leaves an exact path to the one who asked for it", () => {
  const paths = [
    { path: "/a", pathType: "Prefix", service: "tree" },
    { path: "/a", pathType: "Exact", service: "leaf" },
  ];
  expect(shown(ingress("one", [{ host: "a.example", paths }]))).toEqual([
    "a.example: = /a -> shop-leaf-80, /a/ -> shop-tree-80",
  ]);
});

it("gives a path that two claim to the older Ingress, and of the same age to the later name", () => {
  const rules = (service: string) => [{ host: "a.example", paths: [{ service }] }];
  const old = ingress("z", rules("old"), { createdAt: "2025-01-01T00:00:00Z" });
  const [left, right] = [ingress("a", rules("a")), ingress("b", rules("b"))];
  expect(shown(left, old, right)).toEqual(["a.example: / -> shop-old-80"]);
  expect(shown(left, right)).toEqual(["a.example: / -> shop-b-80"]);
});

it("serves rules without a host, and default backends, where nothing else does", () => {
  expect(
    shown(
      ingress("one", [{ paths: [{ path: "/api" }] }]),
      ingress("two", [], { defaultService: "rest" }),
      ingress("three", [{ host: "b.example", paths: [{ path: "/x", pathType: "Exact" }] }], {
        defaultService: "own",
      }),
    ),
  ).toEqual([
    "_: / -> shop-rest-80, = /api -> shop-web-80, /api/ -> shop-web-80",
    "b.example: / -> shop-own-80, = /x -> shop-web-80",
  ]);
});
