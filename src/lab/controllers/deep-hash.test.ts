import { expect, test } from "vitest";
import { type DeepHash, sortedByHash } from "./deep-hash.ts";

// The digests behind these orders were computed in Go, with crypto/md5 and hash/fnv New128a.
test.each<[DeepHash, readonly string[]]>([
  ["md5", ["a", "hello world", ""]],
  ["fnv-128a", ["hello world", "", "a"]],
])("texts are in the order of their %s", (hash, expected) => {
  expect(sortedByHash(["", "a", "hello world"], hash, (text) => text)).toEqual(expected);
});
