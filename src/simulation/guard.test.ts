// Every way around the environment must be caught, and nothing may stay replaced afterwards.
import childProcess from "node:child_process";
import crypto, { randomUUID } from "node:crypto";
import dgram from "node:dgram";
import dns, { lookup } from "node:dns";
import http from "node:http";
import net from "node:net";
import timers, { setTimeout as timersSetTimeout } from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";
import { promisify } from "node:util";
import pino from "pino";
import { Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { SimulationBusyError, SimulationLeakError } from "./guard.ts";
import { simulate } from "./simulation.ts";

const nothing = (): void => undefined;

/** Every way into the real world, by the name its error must give. */
const leaks: readonly (readonly [string, () => unknown])[] = [
  ["Date.now()", () => Date.now()],
  ["new Date()", () => new Date()],
  ["Date()", () => Date()],
  ["performance.now()", () => performance.now()],
  ["process.hrtime()", () => process.hrtime()],
  ["process.hrtime.bigint()", () => process.hrtime.bigint()],
  ["setTimeout()", () => setTimeout(nothing, 1)],
  ["setInterval()", () => setInterval(nothing, 1)],
  ["setImmediate()", () => setImmediate(nothing)],
  ["setTimeout()", () => promisify(setTimeout)(1)],
  ["timers.setTimeout()", () => timers.setTimeout(nothing, 1)],
  ["timers.setTimeout()", () => timersSetTimeout(nothing, 1)],
  ["timers.setImmediate()", () => timers.setImmediate(nothing)],
  ["timers/promises.setTimeout()", () => sleep(1)],
  ["AbortSignal.timeout()", () => AbortSignal.timeout(1)],
  ["Math.random()", () => Math.random()],
  ["crypto.randomUUID()", () => crypto.randomUUID()],
  ["crypto.randomUUID()", () => randomUUID()],
  ["crypto.randomUUID()", () => globalThis.crypto.randomUUID()],
  ["crypto.randomBytes()", () => crypto.randomBytes(1)],
  ["crypto.randomInt()", () => crypto.randomInt(2)],
  ["crypto.randomFillSync()", () => crypto.randomFillSync(new Uint8Array(1))],
  ["crypto.getRandomValues()", () => crypto.getRandomValues(new Uint8Array(1))],
  ["crypto.getRandomValues()", () => globalThis.crypto.getRandomValues(new Uint8Array(1))],
  ["fetch()", () => fetch("http://127.0.0.1:1/")],
  ["socket.connect()", () => net.connect(1, "127.0.0.1")],
  ["socket.connect()", () => tls.connect(1, "127.0.0.1")],
  ["socket.connect()", () => http.get("http://127.0.0.1:1/")],
  ["server.listen()", () => net.createServer().listen(0, "127.0.0.1")],
  ["server.listen()", () => http.createServer().listen(0, "127.0.0.1")],
  ["socket.bind()", () => dgram.createSocket("udp4").bind(0)],
  ["dns.lookup()", () => dns.lookup("localhost", nothing)],
  ["dns.lookup()", () => lookup("localhost", nothing)],
  ["dns.promises.lookup()", () => dns.promises.lookup("localhost")],
  ["child_process.spawn()", () => childProcess.spawn("true")],
];

/** The error of a call, thrown or as a rejection. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("every way into the real world throws during a run, and names itself", async () => {
  const calls = await simulate({ seed: 1 }, async () => {
    const found: unknown[] = [];
    for (const [, leak] of leaks) {
      const error = await failureOf(leak);
      found.push(error instanceof SimulationLeakError ? error.call : error);
    }
    return found;
  });
  expect(calls).toEqual(leaks.map(([call]) => call));
});

test("the error says what to use instead", async () => {
  const error = await simulate({ seed: 1 }, () => failureOf(() => Date.now()));
  expect(error).toMatchObject({
    code: "LEAK",
    message: "Date.now() was called during a simulated run; use clock of the environment instead",
  });
});

test("dependencies are caught as well", async () => {
  const registry = new Registry();
  const gauge = new Gauge({ name: "at", help: "When.", registers: [registry] });
  const histogram = new Histogram({ name: "took", help: "How long.", registers: [registry] });
  const logger = pino({}, { write: nothing });
  const found = await simulate({ seed: 1 }, async () => [
    await failureOf(() => gauge.setToCurrentTime()),
    await failureOf(() => histogram.startTimer()),
    await failureOf(() => logger.info("a line with a time")),
  ]);
  expect(found).toMatchObject([
    { name: "SimulationLeakError", call: "Date.now()" },
    { name: "SimulationLeakError", call: "process.hrtime()" },
    { name: "SimulationLeakError", call: "Date.now()" },
  ]);
});

test("conversions of dates stay", async () => {
  const result = await simulate({ seed: 1 }, async () => {
    const date = new Date(0);
    return {
      iso: new Date("2026-01-02T03:04:05Z").toISOString(),
      parsed: Date.parse("1970-01-01T00:00:01Z"),
      utc: Date.UTC(1970, 0, 1),
      isDate: date instanceof Date,
      sameConstructor: date.constructor === Date,
    };
  });
  expect(result).toEqual({
    iso: "2026-01-02T03:04:05.000Z",
    parsed: 1000,
    utc: 0,
    isDate: true,
    sameConstructor: true,
  });
});

/** Where a program finds the functions that the guard replaces. */
const holders: readonly (readonly [object, string])[] = [
  [globalThis, "Date"],
  [Date.prototype, "constructor"],
  [performance, "now"],
  [process, "hrtime"],
  [globalThis, "setTimeout"],
  [globalThis, "setInterval"],
  [globalThis, "setImmediate"],
  [timers, "setTimeout"],
  [AbortSignal, "timeout"],
  [Math, "random"],
  [crypto, "randomUUID"],
  [globalThis.crypto, "getRandomValues"],
  [globalThis, "fetch"],
  [net.Socket.prototype, "connect"],
  [net.Server.prototype, "listen"],
  [dns, "lookup"],
  [childProcess, "spawn"],
];

function ambientFunctions(): unknown[] {
  const found = holders.map(([holder, name]): unknown => Reflect.get(holder, name));
  return [...found, timersSetTimeout, sleep, randomUUID, lookup];
}

function ambientShapes(): unknown[] {
  const objects = [Math, timers, crypto, dns, AbortSignal, net.Socket.prototype];
  const shapes = objects.map((object) => Object.getOwnPropertyDescriptors(object));
  return [...shapes, process.listeners("unhandledRejection")];
}

test("everything is put back exactly, after success and after failure", async () => {
  const before = ambientFunctions();
  const shapes = ambientShapes();
  const during = await simulate({ seed: 1 }, async () => ambientFunctions());
  expect(during.filter((value, index) => value === before[index])).toEqual([]);
  expect(ambientFunctions().every((value, index) => value === before[index])).toBe(true);
  expect(ambientShapes()).toEqual(shapes);
  const failed = simulate({ seed: 1 }, async () => {
    throw new Error("on purpose");
  });
  await expect(failed).rejects.toThrow("on purpose");
  expect(ambientFunctions().every((value, index) => value === before[index])).toBe(true);
  expect(ambientShapes()).toEqual(shapes);
});

test("a second run at the same time is refused, and does not disturb the first", async () => {
  const inner: unknown[] = [];
  const result = await simulate({ seed: 1 }, async (simulation) => {
    inner.push(await failureOf(() => simulate({ seed: 2 }, async () => 0)));
    await simulation.host("a").timers.sleep(1000);
    inner.push(await failureOf(() => Date.now()));
    return simulation.now();
  });
  expect(result).toBe(1000);
  expect(inner[0]).toBeInstanceOf(SimulationBusyError);
  expect(inner[1]).toBeInstanceOf(SimulationLeakError);
});
