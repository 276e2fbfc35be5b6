import { expect, test } from "vitest";
import type { ObservationSink } from "../timeline/observation.ts";
import { type ServiceBounds, ServiceFilter, watchedNamespaces } from "./service-filter.ts";

const noSink = { report: () => undefined, follow: () => undefined, unfollow: () => undefined };

test.each<[ServiceBounds, readonly string[], readonly string[] | undefined]>([
  [{}, ["a/x", "a/y", "b/x"], undefined],
  [{ namespaces: ["a"] }, ["a/x", "a/y"], ["a"]],
  [{ services: ["a/x", "a/y"] }, ["a/x", "a/y"], ["a"]],
  [{ namespaces: ["a", "b"], services: ["b/x"] }, ["b/x"], ["b"]],
  [{ namespaces: ["a"], services: ["b/x"] }, [], []],
])("%j lets through %j and watches %j", (bounds, services, namespaces) => {
  const filter = new ServiceFilter(noSink, bounds);
  expect(["a/x", "a/y", "b/x"].filter((service) => filter.has(service))).toEqual(services);
  expect(watchedNamespaces(bounds)).toEqual(namespaces);
});

test("the details of following an observed service are passed on whole", () => {
  const said: unknown[] = [];
  const sink: ObservationSink = {
    ...noSink,
    follow: (_, service) => said.push(service),
    unfollow: (_, service) => said.push(service),
  };
  const filter = new ServiceFilter(sink, { namespaces: ["a"] });
  const replica = { hop: "routed", name: "proxy" } as const;
  for (const service of ["a/x", "b/x"]) {
    filter.follow(replica, { cluster: "east", service, ports: [8080] });
    filter.unfollow(replica, { cluster: "east", service, forGood: true });
  }
  const service = { cluster: "east", service: "a/x" };
  expect(said).toEqual([
    { ...service, ports: [8080] },
    { ...service, forGood: true },
  ]);
});
