// The Lua side of the table of cases: route.lua and balance.lua, run by nginx as they are in the
// proxy, give what the table says. Their twin in TypeScript passes the same table.
import { describe, expect, it } from "vitest";
import { balanceCases, canaryCases, casesText, routeCases } from "../tests/nginx/balancer-cases.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

const routeProgram = `
  local route = require("lockstep.route")
  for _, case in ipairs(cases) do
    local hosts = {}
    for name, rules in pairs(case.hosts) do hosts[name] = route.compile(rules) end
    local find = function(name) return hosts[name] end
    for _, request in ipairs(case.requests) do
      local asked = request[4]
      local ask = asked and {
        port = function() return asked.port end,
        address = function() return asked.address end,
        method = function() return asked.method end,
        header = function(field) return asked.headers[field.name:lower()] end,
        parameter = function(field) return asked.query[field.name] end,
      }
      local rule = route.find(find, request[1], request[2], ask)
      request[3] = rule and rule.service or cjson.null
    end
    case.hosts = nil
  end
`;

/** How often the request is asked for something, and the rule that it leads to. */
const askedProgram = `
  local count, real = 0, ngx
  local function asked(value)
    count = count + 1
    return value
  end
  ngx = setmetatable({
    req = {
      get_method = function() return asked("GET") end,
      get_uri_args = function() return asked({ a = "1" }) end,
    },
    var = setmetatable({}, { __index = function() return asked(nil) end }),
  }, { __index = real })
  local conditions = require("lockstep.conditions")
  local route = require("lockstep.route")
  local host = route.compile(cases)
  local find = function() return host end
  for _ = 1, 2 do
    cases = route.find(find, "shop.example", "/", conditions.of_request)
  end
  cases = { service = cases.service, count = count }
`;

const balanceProgram = `
  local balance = require("lockstep.balance")
  local function set_of(list)
    local set = {}
    for _, one in ipairs(list or {}) do set[one] = true end
    return set
  end
  local least_latency = require("lockstep.least_latency")
  local ring = require("lockstep.ring")
  local affinity = require("lockstep.affinity")
  local function chance_of(case, turn)
    local drawn = 0
    local function of(slot, field, otherwise)
      local known = case.known[tostring(slot)]
      return known and known[field] or otherwise
    end
    return {
      draw = function()
        drawn = drawn + 1
        return assert(case.draws[turn][drawn], "more draws than the case has")
      end,
      cost = function(slot)
        local latency, age = of(slot, "latencyMs", 0), of(slot, "measuredMsAgo", 0)
        return least_latency.cost(latency, age, of(slot, "underWay", 0))
      end,
      share = function(slot)
        return least_latency.share(of(slot, "joinedMsAgo", math.huge))
      end,
    }
  end
  for _, case in ipairs(cases) do
    local slots = case.service.slots
    case.service.names = {}
    for index, slot in ipairs(slots) do case.service.names[index] = "c1/d/pod-" .. slot end
    local service = balance.prepare(case.service)
    local suspects, tried_slots, tried = set_of(case.suspects), set_of(case.tried), {}
    for index, slot in ipairs(slots) do tried[index] = tried_slots[slot] end
    local is_suspect = function(slot) return suspects[slot] == true end
    local cursor = case.cursor
    for turn in ipairs(case.picks) do
      local index, is_known
      if case.keys then
        index = ring.pick(service, case.keys[turn], tried, is_suspect)
      elseif case.draws then
        index = least_latency.pick(service, chance_of(case, turn), tried, is_suspect)
      elseif case.cookies then
        index, is_known = affinity.pick(service, case.cookies[turn], tried, is_suspect)
      else
        local next_cursor
        index, next_cursor = balance.pick(service, cursor, tried, is_suspect)
        cursor = next_cursor or cursor
      end
      case.picks[turn] = index and slots[index] or is_known and 0 or cjson.null
    end
  end
`;

const canaryProgram = `
  local canary = require("lockstep.canary")
  for _, case in ipairs(cases) do
    local prepared = canary.prepare({ case.canary })
    for _, request in ipairs(case.requests) do
      local var = setmetatable({}, { __index = function(_, name)
        local header = request[1][name:gsub("^http_", ""):gsub("_", "-")]
        local cookie = name:match("^cookie_(.*)$")
        if cookie then
          return (";" .. (request[1].cookie or "") .. ";"):match("[; ]" .. cookie .. "=([^;]*);")
        end
        return header
      end })
      request[2] = canary.choose(prepared, var, function() return true end) ~= nil
    end
    case.canary = nil
  end
`;

/**
 * How old a mark is; then whether it counts, whether it does once the endpoint was tried, and whether it
 * does after the connection broke.
 */
const suspectProgram = `
  local rows = require("lockstep.rows")
  local suspects = require("lockstep.suspects")
  rows.allocate()
  rows.marked[0] = 1
  for _, case in ipairs(cases) do
    local age = case[1]
    rows.endpoints[5].suspected_ms = age == cjson.null and 0 or ngx.now() * 1000 - age
    case[2] = suspects.is_suspect(5)
    suspects.try(5)
    case[3] = suspects.is_suspect(5)
    suspects.end_trial(5)
    case[4] = suspects.is_suspect(5)
  end
`;

/** After each step: whether marks are looked at, and whether there is one. */
const markedProgram = `
  local rows = require("lockstep.rows")
  local suspects = require("lockstep.suspects")
  ngx.shared.lockstep_meta:set("suspect_changes", 0)
  rows.allocate()
  local steps = {
    nothing = function() end,
    mark = function() suspects.mark(5) end,
    list = function() suspects.list(10) end,
    answer = function() suspects.clear(5) end,
    half_a_minute = function() rows.endpoints[5].suspected_ms = ngx.now() * 1000 - 30000 end,
    two_minutes = function() rows.endpoints[5].suspected_ms = ngx.now() * 1000 - 120000 end,
  }
  for number, step in ipairs(cases) do
    steps[step]()
    cases[number] = { step, rows.marked[0] ~= 0, suspects.is_marked(5) }
  end
`;

/** Uses a block of TLS, then asks for it under other names until one is its neighbour. */
const tlsBlockProgram = `
  local seconds, real = 1000, ngx
  ngx = setmetatable({ var = {}, now = function() return seconds end }, { __index = real })
  local upstream = require("lockstep.upstream")
  local function url(name)
    local context = {}
    local found = upstream.url(context, { protocol = "https", upstreamTlsName = name }, 1)
    upstream.release(context)
    return found
  end
  local own, neighbour = url("a"), 0
  repeat neighbour = neighbour + 1 until url("b" .. neighbour) == "https://once_https"
  seconds = seconds + 3600
  cases = { url("b" .. neighbour), url("a") == own }
`;

const cookieProgram = `
  local affinity = require("lockstep.affinity")
  for index, case in ipairs(cases) do
    cases[index] = affinity.cookie(case.affinity, "e1", case.tls == true, case.agent)
  end
`;

/** The balancing of a policy as it is stored, or why it is refused. */
const balancePolicyProgram = `
  local policy_entry = require("lockstep.policy_entry")
  for index, case in ipairs(cases) do
    local fine, parsed = pcall(policy_entry.parse, { balance = case })
    cases[index] = fine and parsed.balance or parsed.problem
  end
`;

describe.skipIf(withoutNginx !== false)("the balancer in Lua", () => {
  it("asks each request once for what many rules ask for", () => {
    const field = (name: string) => ({ name, value: "1" });
    const ofMethods = ["POST", "GET"].flatMap((method) =>
      Array.from({ length: 50 }, (_, at) => ({
        type: "Prefix",
        path: "/",
        service: `shop/s-${method}-${at}`,
        when: { method, query: ["a", `b${at}`].map(field), headers: [field("X-A")] },
      })),
    );
    const last = { type: "Prefix", path: "/", service: "shop/last", when: { query: [field("a")] } };
    const withHeader = { ...last, service: "shop/none", when: { headers: [field("X-A")] } };
    // Twice a method, the parameters and the header, which is not there.
    expect(runLua(JSON.stringify([...ofMethods, withHeader, last]), askedProgram)).toEqual({
      service: "shop/last",
      count: 2 * 3,
    });
  });

  it("routes every case as the table says", () => {
    const decided = runLua(casesText("route"), routeProgram) as {
      requests: readonly (readonly unknown[])[];
    }[];
    const answers = (requests: readonly (readonly unknown[])[]) =>
      requests.map((one) => one.slice(0, 3));
    expect(decided.map(({ requests }) => answers(requests))).toEqual(
      routeCases().map(({ requests }) => answers(requests)),
    );
  });

  it("gives canaries in every case what the table says", () => {
    const decided = runLua(casesText("canary"), canaryProgram) as {
      requests: [unknown, boolean][];
    }[];
    expect(decided.map(({ requests }) => requests.map(([, wants]) => wants))).toEqual(
      canaryCases().map(({ requests }) => requests.map(([, wants]) => wants)),
    );
  });

  it("lets one request after the other try a suspect whose mark has ended, or is of another time", () => {
    const marks = [
      [null, false, false, false],
      [0, true, true, true],
      [7_000, true, true, true],
      [10_000, false, true, false],
      [99_000, false, true, false],
      [-5_000, false, true, false],
    ];
    const ages = marks.map(([age]) => [age]);
    expect(runLua(JSON.stringify(ages), suspectProgram)).toEqual(marks);
  });

  it("looks at marks from the first that is set until none is left, or is long forgotten", () => {
    const steps = [
      ["nothing", false, false],
      ["mark", true, true],
      ["list", true, true],
      ["answer", true, false],
      ["list", false, false],
      ["mark", true, true],
      ["half_a_minute", true, true],
      ["list", true, true],
      ["two_minutes", true, true],
      ["list", false, false],
    ];
    const names = steps.map(([name]) => name);
    expect(runLua(JSON.stringify(names), markedProgram)).toEqual(steps);
  });

  it("keeps the TLS connections of a name to itself although the clock is changed", () => {
    expect(runLua("[]", tlsBlockProgram)).toEqual(["https://once_https", true]);
  });

  it("writes the cookie of a session as the route asks, and as the browser can read it", () => {
    const none = { cookie: "c", mode: "balanced", sameSite: "None", conditionalSameSiteNone: true };
    const agents = {
      chrome66:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/66.0.3359.1 Safari/537.36",
      chrome120:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36",
      ios12: "Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X) AppleWebKit/605.1.15",
      mojave:
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
        "Version/12.1.2 Safari/605.1.15",
    };
    const cases = [
      { affinity: { cookie: "c", mode: "persistent" } },
      { affinity: { cookie: "c", mode: "persistent" }, tls: true },
      { affinity: { cookie: "c", mode: "persistent", secure: false, maxAgeSeconds: 0 }, tls: true },
      {
        affinity: { cookie: "c", mode: "persistent", path: "/a", domain: "d", sameSite: "Strict" },
      },
      ...Object.values(agents).map((agent) => ({ affinity: none, agent })),
      { affinity: { ...none, conditionalSameSiteNone: false }, agent: agents.ios12 },
    ];
    expect(runLua(JSON.stringify(cases), cookieProgram)).toEqual([
      "c=e1; Path=/; HttpOnly",
      "c=e1; Path=/; HttpOnly; Secure",
      "c=e1; Path=/; Max-Age=0; HttpOnly",
      "c=e1; Path=/a; Domain=d; HttpOnly; SameSite=Strict",
      "c=e1; Path=/; HttpOnly",
      "c=e1; Path=/; HttpOnly; SameSite=None",
      "c=e1; Path=/; HttpOnly",
      "c=e1; Path=/; HttpOnly",
      "c=e1; Path=/; HttpOnly; SameSite=None",
    ]);
  });

  it("takes keys of hash from requests only, and cookies that are one", () => {
    const hashBy = (variable: string) => ({ method: "hash", hashBy: [{ variable }] });
    const sticky = (other: object) => ({
      method: "round-robin",
      affinity: { cookie: "c", mode: "balanced", ...other },
    });
    const cases = [
      hashBy("http_x_user"),
      hashBy("server_name"),
      hashBy("upstream_addr"),
      hashBy("ssl_client_s_dn"),
      hashBy("http_"),
      { method: "hash" },
      sticky({ path: "/a; Domain=evil" }),
      sticky({ cookie: "a b" }),
    ];
    expect(runLua(JSON.stringify(cases), balancePolicyProgram)).toEqual([
      hashBy("http_x_user"),
      hashBy("host"),
      "a key of hash cannot be made of this variable",
      "a key of hash cannot be made of this variable",
      "a key of hash cannot be made of this variable",
      "hash must say what to make keys of",
      "the path of a cookie must begin with a slash",
      "a name of a policy has characters it cannot have",
    ]);
  });

  it("picks in every case what the table says", () => {
    const decided = runLua(casesText("balance"), balanceProgram) as { picks: unknown }[];
    expect(decided.map(({ picks }) => picks)).toEqual(balanceCases().map(({ picks }) => picks));
  });
});
