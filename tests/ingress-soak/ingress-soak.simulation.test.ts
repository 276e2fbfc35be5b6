// The whole ingress from many seeds: clusters, kubelets and controllers of the lab, Lockstep's loop
// and pusher, the twin of the proxy, and a fault plan. The properties are in `soak-judge.ts`. No
// request goes to an endpoint that a fresh source, or the slices while pods are stale, knew to be
// dead, or that just failed while others had not. No request is lost that a pod could have served.
// No service loses most of its live endpoints on one witness. In the end everything is right.
import { expect } from "vitest";
import { forEachSeed, isThorough } from "../../src/simulation/seeds.ts";
import type { SoakTheme } from "./soak-plan.ts";
import { soak } from "./soak-world.ts";

/** With the seeds that failed once. */
const themes: ReadonlyMap<SoakTheme, readonly number[]> = new Map([
  ["control plane", [161, 209]],
  ["machines", [297, 447, 838]],
  ["everything", [305, 610, 880]],
]);

/** A seed takes half a second: one in a short run, 15 in a long one, 1,200 in a soak. */
const isSoak = Number(process.env["LOCKSTEP_SEEDS"] ?? 0) > 1_000;
const seeds = isSoak ? 12 : isThorough(process.env) ? 3 : 1;

for (const [theme, regressions] of themes) {
  forEachSeed(
    `what must hold of requests holds whatever breaks: ${theme}`,
    { seeds, regressions },
    async (seed) => {
      const { tries, answers } = await soak(seed, theme);
      expect(tries).toBeGreaterThan(0);
      expect(answers.get("200")).toBeGreaterThan(0);
    },
  );
}
