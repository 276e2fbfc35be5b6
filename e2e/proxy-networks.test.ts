// networks.lua, run by nginx as it is in the proxy, and ip-address.ts, which reads the annotations,
// mean the same networks.
import { describe, expect, it } from "vitest";
import { isInNetwork, parseIp, parseNetwork } from "../src/environment/ip-address.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

const program = `
  local networks = require("lockstep.networks")
  for _, case in ipairs(cases) do
    local address = networks.parse(case.address)
    case.isIn = address ~= nil and networks.contains(networks.set(case.networks), address)
    case.networks = nil
  end
`;

const wellFormedProgram = `
  local networks = require("lockstep.networks")
  for index, text in ipairs(cases) do
    cases[index] = networks.parse(text) ~= nil
  end
`;

describe.skipIf(withoutNginx !== false)("networks in Lua", () => {
  it("hold the addresses that they hold elsewhere", () => {
    const cases = nearbyCases();
    const decided = runLua(JSON.stringify(cases), program) as { isIn: boolean }[];
    const expected = cases.map(({ address, networks }) => {
      const ip = parseIp(address);
      const parsed = networks.flatMap((one) => parseNetwork(one) ?? []);
      return ip !== undefined && parsed.some((one) => isInNetwork(ip, one));
    });
    expect(decided.map(({ isIn }) => isIn)).toEqual(expected);
    expect(new Set(expected)).toEqual(new Set([true, false]));
  });

  it("are well formed or not, as elsewhere", () => {
    const texts = [
      "10.0.0.0/8",
      "10.0.0.1",
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0.0/-1",
      "10.0.0.0/8/8",
      "10.0.0",
      "010.0.0.1",
      "256.0.0.1",
      "::/0",
      "fd00::1/128",
      "fd00::1/129",
      "::ffff:10.0.0.1/104",
      "fd00:::1",
      "fd00::1%lo",
      "0x7f.0.0.1",
      " 10.0.0.1",
      "",
      "/8",
      "x",
    ];
    const expected = texts.map((text) => parseNetwork(text) !== undefined);
    expect(runLua(JSON.stringify(texts), wellFormedProgram)).toEqual(expected);
  });
});

/** Networks of every length around addresses that are near them. */
function nearbyCases(): { readonly address: string; readonly networks: readonly string[] }[] {
  const random = new SeededRandom({ seed: 1, name: "networks" });
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const ipv4 = (): string => `10.${below(2)}.${below(4)}.${below(256)}`;
  const ipv6 = (): string => `fd00::${below(3).toString(16)}:${below(65_536).toString(16)}`;
  const address = (): string => {
    const kind = below(5);
    if (kind === 0) return `::ffff:${ipv4()}`;
    return kind < 3 ? ipv4() : ipv6();
  };
  const network = (): string => {
    const kind = below(6);
    if (kind === 0) return ipv4();
    if (kind === 5) return `::ffff:${ipv4()}/${96 + below(33)}`;
    return kind < 3 ? `${ipv4()}/${below(33)}` : `${ipv6()}/${below(129)}`;
  };
  return Array.from({ length: 500 }, () => ({
    address: address(),
    networks: Array.from({ length: 1 + below(4) }, network),
  }));
}
