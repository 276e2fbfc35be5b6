import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { isThorough } from "../../src/simulation/seeds.ts";
import { contentOf, documentWith, runs, targetText } from "./documents.ts";
import { partNames, typedOutputs } from "./marked-part.ts";

for (const { name, targets, isSlow, make } of runs) {
  test.runIf(!isSlow || isThorough(process.env))(
    `the documents have what "${name}" makes now`,
    async () => {
      const texts = await make();
      const outdated = targets.filter(
        (target, index) => documentWith(target, texts[index] ?? "") !== contentOf(target.path),
      );
      const advice = outdated.map((target) => `${targetText(target)}: run npm run docs -- ${name}`);
      expect(advice).toEqual([]);
    },
  );
}

test("every output that a document shows is made or measured", () => {
  const files = readdirSync("docs", { recursive: true, encoding: "utf8" });
  const documents = files.filter((file) => file.endsWith(".md")).map((file) => `docs/${file}`);
  const typed = ["README.md", "README.zh.md", ...documents].flatMap((path) =>
    typedOutputs(contentOf(path)).map((line) => `${path}:${line}`),
  );
  expect(typed).toEqual([]);
});

test("every picture and every part that is marked as made is made", () => {
  const files = readdirSync("docs", { recursive: true, encoding: "utf8" });
  const there = ["README.md", "README.zh.md", ...files.map((file) => `docs/${file}`)].flatMap(
    (path) => {
      if (path.endsWith(".svg")) return [path];
      const parts = path.endsWith(".md") ? partNames(contentOf(path)) : [];
      const made = parts.filter((part) => part.startsWith("made: "));
      return made.map((part) => targetText({ path, part }));
    },
  );
  const known = runs.flatMap(({ targets }) => targets.map(targetText));
  expect(there.sort()).toEqual(known.sort());
});
