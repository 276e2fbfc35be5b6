import { expect, test } from "vitest";
import type { RouteOrigin } from "./route.ts";
import { claimOfSetting, wantedBy } from "./wanted-secrets.ts";

const origin = (name: string, createdAtMs: number): RouteOrigin => ({
  kind: "Ingress",
  namespace: "shop",
  name,
  createdAtMs,
});

test("the secrets of the oldest Ingress come first, whatever the order they are found in", () => {
  const claims = [
    { key: "shop/a", origin: origin("young", 3) },
    { key: "shop/c", origin: origin("old", 1) },
    { key: "shop/b", origin: origin("old", 1) },
    { key: "shop/d", origin: origin("young", 3) },
    { key: "shop/d", origin: origin("middle", 2) },
    claimOfSetting("shop/z"),
  ];
  for (const found of [claims, claims.toReversed()]) {
    const { keys, compare } = wantedBy(found);
    expect([...keys].sort(compare)).toEqual(["shop/z", "shop/b", "shop/c", "shop/d", "shop/a"]);
  }
});
