// The contract of every `Network`: real sockets and the simulated network run the same tests, so
// that code behaves the same in both.
import { describe } from "vitest";
import type { RunInNetworkWorld } from "../../tests/network/network-world.ts";
import { networkAddressContract } from "./network-address.contract.ts";
import { networkEndingContract } from "./network-ending.contract.ts";
import { networkExchangeContract } from "./network-exchange.contract.ts";
import { networkFlowContract } from "./network-flow.contract.ts";

export function networkContract(run: RunInNetworkWorld): void {
  describe("an exchange", () => {
    networkExchangeContract(run);
  });
  describe("the flow of a body", () => {
    networkFlowContract(run);
  });
  describe("the end of an exchange", () => {
    networkEndingContract(run);
  });
  describe("an address", () => {
    networkAddressContract(run);
  });
}
