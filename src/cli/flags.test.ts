import { expect, test } from "vitest";
import {
  byteSize,
  duration,
  listOf,
  portRange,
  refuseBoth,
  refuseWithout,
  serviceName,
  timeAgo,
  wholeNumber,
} from "./flags.ts";

test("sizes are read with the units that people write", () => {
  const size = byteSize(2 ** 20);
  const texts = ["1048576", "1M", "1m", "1MB", "1MiB", "2G"];
  expect(texts.map(size)).toEqual([1, 1, 1, 1, 1, 2_048].map((mebibytes) => mebibytes * 2 ** 20));
});

test.each(["", "12", "1000K", "-5G", "1T", "1.5G", "G"])("%j is refused", (text) => {
  expect(() => byteSize(2 ** 20)(text)).toThrow(
    "It must be a size such as 500M or 2G, at least 1M.",
  );
});

test("a duration is read in milliseconds, with days where a flag accepts them", () => {
  expect(["0", "250ms", "1m30s"].map(duration({ toMs: 3_600_000 }))).toEqual([0, 250, 90_000]);
  const days = duration({ fromMs: 60_000, toMs: 365 * 86_400_000, days: true });
  expect(["1m", "7d", "1d12h"].map(days)).toEqual([60_000, 604_800_000, 129_600_000]);
});

test.each([
  [
    () => portRange("9009-9000"),
    "It must be a port from 1 to 65535, or a range such as 9000-9009.",
  ],
  [() => portRange("80,81"), "It must be a port from 1 to 65535, or a range such as 9000-9009."],
  [() => wholeNumber(1, 9)("10"), "It must be a whole number from 1 to 9."],
  [
    () => duration({ toMs: 3_600_000 })("5"),
    "It must be a duration such as 500ms, 5s or 1m30s, up to 1h.",
  ],
  [
    () => duration({ fromMs: 60_000, toMs: 365 * 86_400_000, days: true })("1s"),
    "It must be a duration such as 90s, 12h or 7d, from 1m to 365d.",
  ],
  [
    () => timeAgo("10"),
    "It must be a time such as 2026-03-01T12:00:00Z, or how long ago: 90s, 1h30m or 7d.",
  ],
  [() => serviceName("web"), "It must be namespace/name, such as shop/web."],
  [() => listOf(serviceName)("shop/a/b", []), "It must be namespace/name, such as shop/web."],
])("a wrong value is refused with how to correct it: %#", (read, message) => {
  expect(read).toThrow(message);
});

test("flags that exclude or need each other are refused by name", () => {
  refuseBoth({ "--all": true, "--fix": false });
  expect(() => refuseBoth({ "--all": true, "--fix": true })).toThrow(
    "--all and --fix cannot be used together: remove one of them.",
  );
  refuseWithout("--history", true, { "--max-age": true });
  expect(() => refuseWithout("--history", false, { "--max-age": true })).toThrow(
    "--max-age needs --history: add --history, or remove --max-age.",
  );
});
