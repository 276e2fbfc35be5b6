// The steps that are added to a user's regular expression, so that they can be counted
// (proxy/lua/lockstep/pattern_steps.lua), change nothing of what it matches and what its groups hold.
import { describe, expect, it } from "vitest";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

const atoms = ["a", "b", "z", ".", "[^z]", "[]a]", "[^]\\\\z]", "\\w", "/", "[[:alpha:]]", "\\("];
const otherAtoms = ["\\|", "[|(]", "\\\\", "[(?:]", "^", "(?i)", "\\b"];
const repetitions = ["", "", "", "*", "+", "?", "*?", "{0,3}", "{2,}", "??"];
const openings = ["(", "(?:", "(?<n>", "(?P<n>", "(?i:", "(?i-s:"];

function expression(random: SeededRandom, depth: number): string {
  const one = (list: readonly string[]): string =>
    list[Math.floor(random.next() * list.length)] ?? "";
  let text = "";
  for (let left = 1 + Math.floor(random.next() * 3); left > 0; left -= 1) {
    if (depth === 0 || random.next() < 0.5) {
      text += random.next() < 0.1 ? one(otherAtoms) : one(atoms) + one(repetitions);
    } else {
      const alternatives = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () =>
        random.next() < 0.1 ? "" : expression(random, depth - 1),
      );
      // A name may stand once only.
      const opening = one(openings).replace("n", `n${Math.floor(random.next() * 1e6)}`);
      text += `${opening}${alternatives.join("|")})${one(repetitions)}`;
    }
  }
  return text;
}

const program = `
  local pattern = require("lockstep.pattern")
  local function judge(compiled, subject)
    if not compiled then return "none" end
    local found = pattern.matches(compiled, subject)
    if not found then return tostring(found) end
    local captures = pattern.captures(compiled, subject)
    local texts = {}
    for index = 0, #captures do texts[#texts + 1] = tostring(captures[index]) end
    return table.concat(texts, " ")
  end
  for _, case in ipairs(cases) do
    local counted = pattern.compile_path(case.text)
    local plain = pattern.compile_own("(?i)^(?:" .. case.text .. ")")
    case.pairs = {}
    for index, subject in ipairs(case.subjects) do
      case.pairs[index] = { judge(counted, subject), judge(plain, subject) }
    end
  end
`;

describe.skipIf(withoutNginx !== false)("an expression whose steps are counted", () => {
  it("matches what it matched before", () => {
    const random = new SeededRandom({ seed: 7, name: "expressions" });
    const signs = "abz/1|(\\]A";
    const subject = () =>
      `/${Array.from({ length: random.next() * 14 }, () =>
        signs.charAt(random.next() * signs.length),
      ).join("")}`;
    const cases = Array.from({ length: 1_500 }, () => ({
      text: `/${expression(random, 3)}`,
      subjects: Array.from({ length: 8 }, subject),
    }));
    const judged = runLua(JSON.stringify(cases), program) as {
      readonly text: string;
      readonly pairs: readonly (readonly [string, string])[];
    }[];
    const pairs = judged.flatMap(({ text, pairs }) => pairs.map((pair) => ({ text, pair })));
    // Where either took too many steps nothing is known.
    const known = pairs.filter(({ pair }) => !pair.includes("nil"));
    expect(known.length).toBeGreaterThan(pairs.length / 2);
    expect(known.filter(({ pair: [, plain] }) => plain.startsWith("/")).length).toBeGreaterThan(
      500,
    );
    expect(known.filter(({ pair: [counted, plain] }) => counted !== plain)).toEqual([]);
  });
});
