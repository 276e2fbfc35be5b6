// Five suites with one runner: unit tests beside the code, simulations (seeded, in virtual time),
// end-to-end tests over real sockets and binaries, those of the page in a browser, and those judged by
// a real control plane.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Properties draw the same examples in every run. */
const fixedExamples = ["tests/fixed-examples.ts"];
/** Costly assertions are checked wherever time does not matter. */
const setupFiles = [...fixedExamples, "tests/costly-checks.ts"];

/** The demonstration, `lockstep up`. */
const story = "e2e/up.test.ts";

export default defineConfig({
  test: {
    // vitest leaves one core idle; of two that is half the machine.
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          name: "unit",
          setupFiles,
          // Files of one worker share what they import: three times as fast, and nothing here keeps
          // state in a module that another file would notice.
          isolate: false,
          include: ["{src,tests,ui}/**/*.test.ts", "scripts/**/*.test.{ts,mjs}"],
          exclude: ["{src,tests}/**/*.simulation.test.ts"],
          // No test is about how fast this machine is.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "simulation",
          setupFiles,
          // As above; a run depends on its seed alone, which a test checks across processes.
          isolate: false,
          include: ["{src,tests}/**/*.simulation.test.ts"],
          testTimeout: 600_000,
        },
      },
      {
        test: {
          // Both of the above together: their imports are read and compiled once.
          name: "check",
          setupFiles,
          isolate: false,
          include: ["{src,tests,ui}/**/*.test.ts", "scripts/**/*.test.{ts,mjs}"],
          testTimeout: 600_000,
        },
      },
      {
        test: {
          name: "e2e",
          setupFiles: fixedExamples,
          include: ["e2e/**/*.test.ts"],
          exclude: ["e2e/**/*.real.test.ts", "e2e/page/**", story],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // They wait for processes more than they compute, and each file has ports, folders and loopback
          // networks of its own. More at once would only lengthen the waits of each other.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // Its checks compare real times of before and after a fix, so nothing else runs beside it.
          name: "story",
          setupFiles: fixedExamples,
          include: [story],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "page",
          include: ["e2e/page/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "real",
          setupFiles: fixedExamples,
          include: ["e2e/**/*.real.test.ts"],
          testTimeout: 900_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
