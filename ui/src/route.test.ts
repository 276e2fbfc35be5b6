import { expect, test } from "vitest";
import { parseRoute, routeHref, serviceHref } from "./route.ts";

test.each([
  ["", ["now"]],
  ["#/services/shop/web", ["services", "shop", "web"]],
  ["#/journeys/a%2Fb?service=shop/web", ["journeys", "a/b"]],
  ["#/services/100%/x", ["services", "100%", "x"]],
])("the hash %s names %j", (hash, path) => {
  expect(parseRoute(hash).path).toEqual(path);
});

test("an address read again is the same", () => {
  const href = routeHref(["journeys", "run-1/2"], new URLSearchParams({ service: "shop/web" }));
  expect(href).toBe("#/journeys/run-1%2F2?service=shop/web");
  const { path, query } = parseRoute(href);
  expect(routeHref(path, query)).toBe(href);
  expect(serviceHref("shop/web")).toBe("#/services/shop/web");
});
