// The proxy accepts the result of Ingresses with arbitrary strings, host by host: it is well
// formed, so that no object can cause the refusal of another's rules.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Routing } from "../src/decide/routing/routing.ts";
import { hostileIngress } from "../tests/routing/hostile-ingress.ts";
import { hostsBody } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

const seed = 20_260_101;
const worlds = 1_500;

const program = `
  local batch = require("lockstep.batch")
  local state = require("lockstep.route")
  for _, case in ipairs(cases) do
    local parsed, problem = batch.parse(case.text)
    case.problem = problem
    if parsed then
      for _, rules in pairs(parsed.hosts) do state.compile(rules) end
    end
  end
`;

describe.skipIf(withoutNginx !== false)("hostile Ingresses", () => {
  it("make rules that the proxy takes", () => {
    const ingresses = fc.tuple(hostileIngress("one", 1), hostileIngress("two", 2));
    const cases = fc.sample(ingresses, { numRuns: worlds, seed }).flatMap((own) => {
      const routing = new Routing({ className: "lockstep", shareHosts: true });
      const { hosts } = routing.decide({ ingresses: own, classes: [] });
      return [...hosts].map(([host, rules]) => ({ text: hostsBody({ [host]: rules }) }));
    });
    expect(cases.length).toBeGreaterThan(worlds);
    expect(cases.filter(({ text }) => text.includes('"policy"')).length).toBeGreaterThan(500);
    const judged = runLua(JSON.stringify(cases), program) as { text: string; problem?: string }[];
    expect(judged.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });
});
