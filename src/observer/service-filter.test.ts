import { expect, test } from "vitest";
import { type ServiceBounds, ServiceFilter, watchedNamespaces } from "./service-filter.ts";

const nobody = { report: () => undefined, follow: () => undefined, unfollow: () => undefined };

test.each<[ServiceBounds, readonly string[], readonly string[] | undefined]>([
  [{}, ["a/x", "a/y", "b/x"], undefined],
  [{ namespaces: ["a"] }, ["a/x", "a/y"], ["a"]],
  [{ services: ["a/x", "a/y"] }, ["a/x", "a/y"], ["a"]],
  [{ namespaces: ["a", "b"], services: ["b/x"] }, ["b/x"], ["b"]],
  [{ namespaces: ["a"], services: ["b/x"] }, [], []],
])("%j lets through %j and watches %j", (bounds, services, namespaces) => {
  const filter = new ServiceFilter(nobody, bounds);
  expect(["a/x", "a/y", "b/x"].filter((service) => filter.has(service))).toEqual(services);
  expect(watchedNamespaces(bounds)).toEqual(namespaces);
});
