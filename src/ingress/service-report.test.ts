import { expect, test } from "vitest";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import type { Decisions } from "./decisions.ts";
import { serviceReport } from "./service-report.ts";

const endpoint: TruthEndpoint = {
  address: "10.0.0.1",
  port: 8080,
  cluster: "c",
  podUid: "uid",
  podName: "web-1",
  state: "active",
  reason: "its pod is ready",
  rule: "join at once",
  pod: "ready",
  published: "ready",
};

const truth = { endpoints: [endpoint], problems: ["a problem"], probeRequests: [] };

const origin = { kind: "HTTPRoute", namespace: "shop", name: "web", createdAtMs: 0 } as const;

const decisions: Pick<Decisions, "truths" | "originsOf"> = {
  originsOf: (key) => (key === "shop/web:80" ? [{ ...origin, kind: "Ingress" }, origin] : []),
  truths: new Map(
    ["shop/web:80", "shop/web:admin", "shop/cart:80"].map((key) => [key, { version: 1, truth }]),
  ),
};

const use = { requests: 3, failures: 1, lastUsedMsAgo: 5 };
const useOf = (key: string) => (key === "10.0.0.1 8080 uid" ? use : undefined);

test("a service has every port that a route leads to, with what requests did there", () => {
  const endpoints = [{ ...endpoint, use }];
  expect(serviceReport("shop/web", decisions, useOf)).toEqual({
    kind: "known",
    ports: [
      {
        service: "shop/web:80",
        problems: ["a problem"],
        endpoints,
        routes: ["Ingress shop/web", "HTTPRoute shop/web"],
      },
      { service: "shop/web:admin", problems: ["a problem"], endpoints, routes: [] },
    ],
  });
});

test("one port can be asked for alone", () => {
  expect(serviceReport("shop/web:admin", decisions, () => undefined)).toEqual({
    kind: "known",
    ports: [
      { service: "shop/web:admin", problems: ["a problem"], endpoints: [endpoint], routes: [] },
    ],
  });
});

test("of thousands of routes the first ones are named", () => {
  const many = Array.from({ length: 3_000 }, (_, at) => ({ ...origin, name: `web-${at}` }));
  const report = serviceReport("shop/web:80", { ...decisions, originsOf: () => many }, useOf);
  const [port] = report.kind === "known" ? report.ports : [];
  expect([port?.routes?.length, port?.routes?.at(-2), port?.routes?.at(-1)]).toEqual([
    21,
    "HTTPRoute shop/web-19",
    "…",
  ]);
});

test("a service that no route leads to is answered with what is near", () => {
  expect(serviceReport("shop/wep", decisions, useOf)).toEqual({
    kind: "unknown",
    near: ["shop/web"],
  });
});
