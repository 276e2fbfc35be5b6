import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CleanFiles } from "./clean-files.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-clean-files-"));
  path = join(folder, "cache", "tidy.json");
});

afterEach(() => rmSync(folder, { recursive: true }));

it("knows a clean file in the next run, until its path or content changes", () => {
  const first = new CleanFiles(path);
  expect(first.has("a.ts", "one")).toBe(false);
  first.add("a.ts", "one");
  first.save();
  const second = new CleanFiles(path);
  expect(second.has("a.ts", "one")).toBe(true);
  expect(second.has("a.ts", "two")).toBe(false);
  expect(second.has("b.ts", "one")).toBe(false);
});

it("forgets a file that was not asked for", () => {
  const first = new CleanFiles(path);
  first.add("a.ts", "one");
  first.save();
  new CleanFiles(path).save();
  expect(new CleanFiles(path).has("a.ts", "one")).toBe(false);
});

it("knows nothing by a damaged cache", () => {
  const first = new CleanFiles(path);
  first.add("a.ts", "one");
  first.save();
  writeFileSync(path, "[");
  expect(new CleanFiles(path).has("a.ts", "one")).toBe(false);
});
