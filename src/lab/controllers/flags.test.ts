import { expect, test } from "vitest";
import { controllerFlags } from "./flags.ts";

test("flags have the defaults of Kubernetes unless given", () => {
  const { "kube-api-qps": qps, "kube-api-burst": burst, ...rest } = controllerFlags({ v: 4 });
  expect([qps, burst, rest.v, rest["concurrent-endpoint-syncs"]]).toEqual([20, 30, 4, 5]);
});

test.each([
  [{ "kube-api-qps": 0 }, "--kube-api-qps must be positive: 0"],
  [
    { "endpoint-updates-batch-period": -1 },
    "--endpoint-updates-batch-period must be 0 or more: -1",
  ],
  [{ v: Number.NaN }, "--v must be 0 or more: NaN"],
])("%j is refused", (flags, message) => {
  expect(() => controllerFlags(flags)).toThrow(new RangeError(message));
});
