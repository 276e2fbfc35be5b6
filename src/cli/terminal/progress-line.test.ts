import { expect, test } from "vitest";
import type { Terminal } from "../../environment/terminal.ts";
import { simulate } from "../../simulation/simulation.ts";
import { ProgressLine } from "./progress-line.ts";

/** The output of a run that reports its progress twenty times a second for twelve seconds. */
async function written(interactive: boolean): Promise<readonly string[]> {
  const writes: string[] = [];
  const terminal: Terminal = {
    write: () => {
      throw new Error("progress is no result");
    },
    writeError: (text) => void writes.push(text),
    pendingBytes: 0,
    interactive,
    colours: false,
    columns: 40,
    rows: 24,
  };
  await simulate({ seed: 1 }, async (simulation) => {
    const { clock } = simulation.host("here");
    const progress = new ProgressLine({ terminal, clock });
    for (let tick = 0; tick < 240; tick += 1) {
      progress.show(tick < 20 ? "creating" : "releasing", `${tick} ticks of virtual time passed`);
      await simulation.sleep(50);
    }
    progress.clear();
    progress.clear();
  });
  return writes;
}

test("on a terminal one line is redrawn ten times a second, cut to fit, and cleared", async () => {
  const writes = await written(true);
  expect(writes).toHaveLength(121);
  expect(writes.slice(0, 2)).toEqual([
    "\r\u001b[K  creating · 0 ticks of virtual time p…",
    "\r\u001b[K  creating · 2 ticks of virtual time p…",
  ]);
  expect(writes.at(-1)).toBe("\r\u001b[K");
});

test("elsewhere only a new step is worth a line, and not too often", async () => {
  expect(await written(false)).toEqual([
    "  creating · 0 ticks of virtual time passed\n",
    "  releasing · 100 ticks of virtual time passed\n",
  ]);
});
