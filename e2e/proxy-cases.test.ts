// The Lua side of the table of cases: route.lua and balance.lua, run by nginx as they are in the
// proxy, give what the table says. Their twin in TypeScript passes the same table.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  balanceCases,
  casesText,
  routeCases,
} from "../src/outputs/nginx/balancer-cases.contract.ts";
import { withoutNginx } from "./proxy-world.ts";

const routeProgram = `
  local route = require("lockstep.route")
  for _, case in ipairs(cases) do
    local hosts = {}
    for name, rules in pairs(case.hosts) do hosts[name] = route.compile(rules) end
    local find = function(name) return hosts[name] end
    for _, request in ipairs(case.requests) do
      request[3] = route.find(find, request[1], request[2]) or cjson.null
    end
  end
`;

const balanceProgram = `
  local balance = require("lockstep.balance")
  local function set_of(list)
    local set = {}
    for _, one in ipairs(list or {}) do set[one] = true end
    return set
  end
  for _, case in ipairs(cases) do
    local slots = case.service.slots
    local service = { active = case.service.active, addresses = slots, slots = slots }
    local suspects, tried_slots, tried = set_of(case.suspects), set_of(case.tried), {}
    for index, slot in ipairs(slots) do tried[index] = tried_slots[slot] end
    local is_suspect = function(slot) return suspects[slot] == true end
    local cursor = case.cursor
    for turn in ipairs(case.picks) do
      local index, next_cursor = balance.pick(service, cursor, tried, is_suspect)
      case.picks[turn] = index and slots[index] or cjson.null
      cursor = next_cursor or cursor
    end
  end
`;

describe.skipIf(withoutNginx !== false)("the balancer in Lua", () => {
  it("routes every case as the table says", () => {
    const decided = runLua(casesText("route"), routeProgram) as { requests: unknown }[];
    expect(decided.map(({ requests }) => requests)).toEqual(
      routeCases().map(({ requests }) => requests),
    );
  });

  it("picks in every case what the table says", () => {
    const decided = runLua(casesText("balance"), balanceProgram) as { picks: unknown }[];
    expect(decided.map(({ picks }) => picks)).toEqual(balanceCases().map(({ picks }) => picks));
  });
});

/** Runs a program over `cases` in the Lua of an nginx that ends before it serves anything. */
function runLua(cases: string, program: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-cases-"));
  try {
    mkdirSync(join(folder, "temp"));
    writeFileSync(join(folder, "cases.json"), cases);
    writeFileSync(
      join(folder, "program.lua"),
      `local cjson = require("cjson")
       local prefix = ngx.config.prefix()
       local file = assert(io.open(prefix .. "cases.json"))
       local cases = cjson.decode(file:read("*a"))
       file:close()
       ${program}
       file = assert(io.open(prefix .. "decided.json", "w"))
       file:write(cjson.encode(cases))
       file:close()
       os.exit(0)`,
    );
    writeFileSync(
      join(folder, "nginx.conf"),
      `load_module /usr/lib/nginx/modules/ndk_http_module.so;
       load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
       pid nginx.pid; error_log stderr; events {}
       http {
         ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
           .map((name) => `${name}_temp_path temp/${name};`)
           .join("\n")}
         lua_package_path "${process.cwd()}/proxy/lua/?.lua;/usr/share/lua/5.1/?.lua;;";
         init_by_lua_file program.lua;
       }`,
    );
    execFileSync("/usr/sbin/nginx", ["-p", folder, "-c", join(folder, "nginx.conf")]);
    return JSON.parse(readFileSync(join(folder, "decided.json"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
