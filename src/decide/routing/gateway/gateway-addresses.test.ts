import { expect, it } from "vitest";
import { gateway } from "../../../../tests/gateway/gateway-objects.ts";
import { gatewayAddresses } from "./gateway-addresses.ts";

const pool = ["127.0.1.1", "127.0.1.2", "127.0.1.3"];

const named = (
  name: string,
  shown: { has?: readonly string[]; asks?: readonly string[] } = {},
) => ({
  ...gateway({ name }, [], { addresses: shown.asks?.map((value) => ({ value })) ?? [] }),
  status: { addresses: (shown.has ?? []).map((value) => ({ type: "IPAddress", value })) },
});

function given(gateways: readonly ReturnType<typeof named>[], addresses = pool) {
  return Object.fromEntries(
    [...gatewayAddresses(gateways, addresses)].map(([one, address]) => [
      one.metadata.name,
      address,
    ]),
  );
}

it("gives each Gateway the first free address, until none is left", () => {
  expect(given([named("a"), named("b"), named("c"), named("d")])).toEqual({
    a: "127.0.1.1",
    b: "127.0.1.2",
    c: "127.0.1.3",
  });
});

it("leaves a Gateway the address in its status, which the older of two keeps", () => {
  const has = ["127.0.1.2"];
  expect(given([named("a"), named("b", { has }), named("c", { has })])).toEqual({
    a: "127.0.1.1",
    b: "127.0.1.2",
    c: "127.0.1.3",
  });
});

it("gives a Gateway what its spec asks for, and nothing where that is not to be had", () => {
  const asks = ["127.0.1.1"];
  expect(
    given([
      named("a", { has: asks }),
      named("b", { asks }),
      named("c", { asks: ["192.0.2.1"] }),
      named("d", { asks: ["", "127.0.1.3"] }),
    ]),
  ).toEqual({ a: "127.0.1.2", b: "127.0.1.1", d: "127.0.1.3" });
});

it("gives none where all Gateways share the proxy's", () => {
  expect(given([named("a", { has: pool })], [])).toEqual({});
});
