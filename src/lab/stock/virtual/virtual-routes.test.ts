import { expect, it } from "vitest";
import type { StockServer } from "../stock-configuration.ts";
import { findLocation } from "./virtual-routes.ts";

const servers: readonly StockServer[] = [
  { hostname: "_", locations: [{ match: "prefix", path: "/", backend: "any" }] },
  { hostname: "*.shop.example", locations: [{ match: "prefix", path: "/", backend: "wild" }] },
  {
    hostname: "a.shop.example",
    locations: [
      { match: "exact", path: "/cart", backend: "exact" },
      { match: "prefix", path: "/cart/", backend: "cart" },
      { match: "prefix", path: "/cart/old", backend: "old" },
    ],
  },
];

it.each([
  ["a.shop.example", "/cart", "exact"],
  ["a.shop.example", "/cart?x=/cart/old", "exact"],
  ["A.Shop.Example:8080", "/cart/1", "cart"],
  ["a.shop.example", "/cart/older", "old"],
  ["a.shop.example", "/", undefined],
  ["b.shop.example", "/cart", "wild"],
  ["c.b.shop.example", "/", "any"],
  ["shop.example", "/", "any"],
  ["", "/", "any"],
])("sends %s%s to %s", (host, target, backend) => {
  expect(findLocation(servers, host, target)?.backend).toBe(backend);
});
