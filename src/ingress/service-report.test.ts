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

const decisions: Pick<Decisions, "truths"> = {
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
      { service: "shop/web:80", problems: ["a problem"], endpoints },
      { service: "shop/web:admin", problems: ["a problem"], endpoints },
    ],
  });
});

test("one port can be asked for alone", () => {
  expect(serviceReport("shop/web:admin", decisions, () => undefined)).toEqual({
    kind: "known",
    ports: [{ service: "shop/web:admin", problems: ["a problem"], endpoints: [endpoint] }],
  });
});

test("a service that no route leads to is answered with what is near", () => {
  expect(serviceReport("shop/wep", decisions, useOf)).toEqual({
    kind: "unknown",
    near: ["shop/web"],
  });
});
