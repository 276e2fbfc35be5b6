import { expect, test } from "vitest";
import { annotated, ingress, path } from "../../../tests/routing/short-ingress.ts";
import { inCluster, service, snapshot } from "../../../tests/truth/service-facts.ts";
import type { ServiceSnapshot } from "../../model/service-snapshot.ts";
import { MissingBackends, maxReportedPerNamespace, missingOf } from "./missing-backends.ts";
import type { RouteOrigin } from "./route.ts";
import { Routing } from "./routing.ts";

const east = inCluster();
const west = inCluster({ cluster: "west", service: service({ ports: [] }) });
const external = service({ type: "ExternalName", externalName: "web.example", ports: [] });

test.each<[string, ServiceSnapshot, number | string, string | undefined]>([
  ["a port by its number", snapshot(east), 80, undefined],
  ["a port by its name", snapshot(east), "admin", undefined],
  [
    "no service",
    snapshot(),
    80,
    "service shop/web does not exist in any cluster, so its requests are answered with 503",
  ],
  ["a cluster that may have it", { ...snapshot(), silent: ["west"] }, 80, undefined],
  [
    "no such port",
    snapshot(east),
    8080,
    "the service shop/web has no port 8080 in east (ports there: 80 (http), 81 (admin)), " +
      "so its requests are answered with 503",
  ],
  [
    "a port that only one cluster lacks",
    snapshot(east, west),
    80,
    "the service shop/web has no port 80 in west (ports there: none), so it gets no requests",
  ],
  [
    "a port that both lack",
    snapshot(east, west),
    "web",
    "the service shop/web has no port web in east (ports there: 80 (http), 81 (admin)), and " +
      "in west (ports there: none), so its requests are answered with 503",
  ],
  [
    "a port that the listed clusters lack",
    { ...snapshot(west), silent: ["east"] },
    80,
    "the service shop/web has no port 80 in west (ports there: none), so it gets no requests",
  ],
  ["any number of an external name", snapshot(inCluster({ service: external })), 8443, undefined],
  [
    "an external name that its namespace has no room for",
    snapshot({
      ...inCluster({ service: external }),
      external: { addresses: [], failure: "there are too many", isBeyond: true },
    }),
    8443,
    "service shop/web in east is the external name web.example, which cannot be resolved: " +
      "there are too many",
  ],
  [
    "a name of an external name",
    snapshot(inCluster({ service: external })),
    "web",
    "the service shop/web has no port web in east (ports there: none), so its requests are " +
      "answered with 503",
  ],
])("%s", (_, facts, port, missing) => {
  expect(missingOf(facts, port)).toBe(missing);
});

test("every Ingress that leads to a missing backend gets a problem, once for each backend", () => {
  const routing = new Routing({ className: "lockstep" });
  const rules = (...names: readonly string[]) =>
    names.map((host) => ({ host, paths: [path("/", "web"), path("/a", "web")] }));
  const canary = annotated({ canary: "true", "canary-weight": "5" });
  const first = ingress("first", rules("a.example", "b.example"));
  const asked = [
    first,
    ingress("same", rules("c.example"), { bornMs: 1 }),
    ingress("late", rules("a.example"), { bornMs: 2 }),
    ingress("moved", rules("d.example"), annotated({ "permanent-redirect": "/" })),
    ingress("closed", rules("e.example"), annotated({ "auth-tls-secret": "a/b" })),
    ingress("next", [{ host: "a.example", paths: [path("/", "new")] }], canary),
  ];
  const namesOf = (key: string) => [...routing.originsOf(key)].map(({ name }) => name).sort();
  routing.decide({ ingresses: asked, classes: [] });
  expect(namesOf("shop/web:80")).toEqual(["first", "same"]);
  expect(namesOf("shop/new:80")).toEqual(["next"]);
  routing.decide({ ingresses: asked.slice(1), classes: [] });
  expect(namesOf("shop/web:80")).toEqual(["late", "same"]);
  routing.decide({ ingresses: [first], classes: [] });
  expect([namesOf("shop/web:80"), namesOf("shop/new:80")]).toEqual([["first"], []]);
});

test("problems stay the same objects until something about them changes", () => {
  const origin: RouteOrigin = { kind: "Ingress", namespace: "shop", name: "web", createdAtMs: 1 };
  const other = { ...origin, name: "other" };
  const missing = new MissingBackends();
  const ask = (...origins: readonly RouteOrigin[]) => missing.problems(() => new Set(origins));
  missing.note("shop/web:80", "it is missing");
  expect(missing.isNew).toBe(true);
  const [problem] = ask(origin);
  expect(missing.isNew).toBe(false);
  expect(problem).toEqual({
    origin,
    reason: "BackendMissing",
    message: "backend web:80: it is missing",
  });
  missing.note("shop/web:80", "it is missing");
  expect(missing.isNew).toBe(false);
  const both = ask(origin, other);
  expect(both.map((one) => one.origin.name)).toEqual(["web", "other"]);
  expect(both[0]).toBe(problem);
  missing.note("shop/web:80", undefined);
  expect([missing.isNew, ask(origin)]).toEqual([true, []]);
});

test("a namespace with very many missing services leaves room for those of others", () => {
  const missing = new MissingBackends();
  for (let one = 0; one <= 5_000; one += 1) missing.note(`loud/${one}:80`, "missing");
  missing.note("shop/web:80", "missing");
  const origin = { kind: "Ingress", name: "web", createdAtMs: 0 } as const;
  const reported = missing.problems(
    (key) => new Set([{ ...origin, namespace: key.split("/")[0] ?? "" }]),
  );
  const ofLoud = reported.filter((one) => one.origin.namespace === "loud");
  expect([ofLoud.length, reported.length]).toEqual([
    maxReportedPerNamespace,
    maxReportedPerNamespace + 1,
  ]);
});

test("a missing service that very many Ingresses name is reported to some of them", () => {
  const missing = new MissingBackends();
  for (const key of ["loud/a:80", "loud/b:80", "shop/web:80"]) missing.note(key, "missing");
  let asked = 0;
  const reported = missing.problems(function* (key) {
    const namespace = key.split("/")[0] ?? "";
    for (let one = 0; one < 5_000; one += 1) {
      asked += 1;
      yield { kind: "Ingress", namespace, name: `i${one}`, createdAtMs: 0 };
    }
  });
  const ofLoud = reported.filter((one) => one.origin.namespace === "loud");
  expect([ofLoud.length, reported.length]).toEqual([
    maxReportedPerNamespace,
    2 * maxReportedPerNamespace,
  ]);
  expect(asked).toBeLessThanOrEqual(2 * maxReportedPerNamespace + 2);
});
