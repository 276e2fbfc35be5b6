import { expect, test } from "vitest";
import { byteSize } from "./byte-size.ts";

test("sizes are read with the units that people write", () => {
  const size = byteSize(2 ** 20);
  const texts = ["1048576", "1M", "1m", "1MB", "1MiB", "2G"];
  expect(texts.map(size)).toEqual([1, 1, 1, 1, 1, 2_048].map((mebibytes) => mebibytes * 2 ** 20));
});

test.each(["", "12", "1000K", "-5G", "1T", "1.5G", "G"])("%j is refused", (text) => {
  expect(() => byteSize(2 ** 20)(text)).toThrow(
    "It must be a size such as 500M or 2G, and 1M at least.",
  );
});
