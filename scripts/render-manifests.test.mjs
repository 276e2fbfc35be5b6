import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { chartHash, manifests } from "./render-manifests.mjs";

test.each(manifests.map(({ file }) => file))(
  "deploy/%s was made from the chart as it is",
  (file) => {
    const text = readFileSync(new URL(`../deploy/${file}`, import.meta.url), "utf8");
    expect(text).toContain(
      `Made by scripts/render-manifests.mjs from deploy/chart (${chartHash()}); do not edit.`,
    );
  },
);
