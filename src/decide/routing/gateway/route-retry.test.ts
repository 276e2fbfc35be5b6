import { expect, it } from "vitest";
import { httpRoute } from "../../../../tests/gateway/gateway-objects.ts";
import { retryOfRule } from "./route-retry.ts";

function retryOf(retry: object): ReturnType<typeof retryOfRule> | undefined {
  const [rule] = httpRoute({ name: "web" }, { rules: [{ retry }] }).rules;
  return rule && retryOfRule(rule);
}

it.each([
  [{}, {}],
  [{ attempts: 3 }, { tries: 4 }],
  [{ codes: [504, 500], backoff: "0s" }, { retryOn: [500, 504] }],
  [
    { codes: [503, 503], attempts: 9 },
    { retryOn: [503], tries: 10 },
  ],
])("takes %j", (retry, policy) => {
  expect(retryOf(retry)).toEqual({ policy, ignored: [] });
});

it.each([
  [{ codes: [500, 429, 599] }, { retryOn: [500] }, "answers with 429, 599 are not retried"],
  [{ codes: [404] }, {}, "answers with 404 are not retried"],
  [{ attempts: 10 }, { tries: 10 }, "there are at most 9 retries"],
  [{ attempts: -5 }, { tries: 1 }, undefined],
  [
    { codes: [500], attempts: 2, backoff: "100ms" },
    {},
    'backoff "100ms" is not supported (the proxy cannot wait before it tries again), so nothing is retried',
  ],
])("reports the parts of %j that it cannot honour", (retry, policy, problem) => {
  expect(retryOf(retry)).toEqual({ policy, ignored: problem === undefined ? [] : [problem] });
});
