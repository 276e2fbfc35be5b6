// The proxy's own question whether an endpoint takes connections, where nginx cannot ask it: the
// request in whose turn it is asked goes on, and later questions are asked.
import { describe, expect, it } from "vitest";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

/** More than are asked at once. */
const questions = 200;

/** The actions of nginx for a timer and a socket; then an endpoint refuses. */
const program = `
  local rows = require("lockstep.rows")
  rows.allocate()
  local suspects = require("lockstep.suspects")
  local check = require("lockstep.connection_check")
  local mode
  ngx.log = function() end
  ngx.timer = { at = function(_, callback, ...)
    if mode == "no timer" then return nil, "too many pending timers" end
    if mode == "a timer that fails" then error("timers are broken") end
    if mode == "an end before it is asked" then callback(true, ...) else callback(false, ...) end
    return true
  end }
  ngx.socket = { tcp = function()
    if mode == "no socket" then error("sockets are broken") end
    return {
      settimeout = function() end,
      close = function() error("it was never connected") end,
      connect = function()
        if mode == "a connection that fails" then error("connections are broken") end
        return nil, "connection refused"
      end,
    }
  end }
  for index, fault in ipairs(cases) do
    mode = fault
    local failed = 0
    for turn = 1, ${questions} do
      local slot = index * 1000 + turn
      if not pcall(check.begin, "shop", slot, "127.0.0.1", 1) then failed = failed + 1 end
    end
    mode = "nothing"
    local slot = index * 1000
    check.begin("shop", slot, "127.0.0.1", 1)
    cases[index] = {
      fault = fault,
      failed = failed,
      marked = suspects.is_marked(slot + 1),
      isAskedLater = suspects.is_marked(slot),
    }
  end
`;

/** The timers of the first owner's questions never run; those of the second do. */
const flood = `
  local rows = require("lockstep.rows")
  rows.allocate()
  local suspects = require("lockstep.suspects")
  local check = require("lockstep.connection_check")
  local is_stuck, started = true, 0
  ngx.timer = { at = function(_, callback, ...)
    started = started + 1
    if not is_stuck then callback(false, ...) end
    return true
  end }
  ngx.socket = { tcp = function()
    return { settimeout = function() end, connect = function() return nil, "refused" end }
  end }
  for slot = 1, ${questions} do check.begin("loud", slot, "127.0.0.1", 1) end
  local asked = started
  is_stuck = false
  check.begin("quiet", 1000, "127.0.0.1", 1)
  cases = { isBounded = asked < ${questions}, isQuietMarked = suspects.is_marked(1000) }
`;

/** Endpoints of the first namespace, in the first slots, refuse connections; one of another does too. */
const crowd = `
  local rows = require("lockstep.rows")
  rows.allocate()
  local suspects = require("lockstep.suspects")
  for slot = 1, 5000 do suspects.mark(slot, "loud") end
  suspects.mark(6000, "quiet")
  local listed = suspects.list(6000)
  cases = { isBounded = #listed < 5000, last = listed[#listed].slot }
`;

describe.skipIf(withoutNginx !== false)("whether an endpoint takes connections", () => {
  it("is asked again after every fault, and fails no request", () => {
    const faults = [
      "no timer",
      "a timer that fails",
      "an end before it is asked",
      "no socket",
      "a connection that fails",
    ];
    expect(runLua(JSON.stringify([...faults, "nothing"]), program)).toEqual([
      ...faults.map((fault) => ({ fault, failed: 0, marked: false, isAskedLater: true })),
      { fault: "nothing", failed: 0, marked: true, isAskedLater: true },
    ]);
  });

  it("is asked for one namespace however many questions of another have no answer", () => {
    expect(runLua("{}", flood)).toEqual({ isBounded: true, isQuietMarked: true });
  });

  it("is reported of one namespace however many endpoints of another take none", () => {
    expect(runLua("{}", crowd)).toEqual({ isBounded: true, last: 6000 });
  });
});
