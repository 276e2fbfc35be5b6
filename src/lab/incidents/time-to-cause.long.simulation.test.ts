import { expect, test } from "vitest";
import { isThorough } from "../../simulation/seeds.ts";
import { ghostLeader, playGhostLeader } from "./ghost-leader/play.ts";
import { shortSettings, writeUpSettings } from "./ghost-leader/settings.ts";
import type { Incident } from "./incident.ts";
import { playInVirtualTime } from "./virtual-stage.ts";

const { heldMs } = writeUpSettings;

test.runIf(isThorough(process.env))(
  "the doctor beside a play measures the time to its cause, and misses a cause that is not there",
  async () => {
    const named = async (rule: string) => {
      const played: Incident = {
        ...ghostLeader,
        rule,
        // As long as the write-up, and with fewer objects than it.
        play: (open, options) => playGhostLeader(open, { ...options, ...shortSettings, heldMs }),
      };
      const { measures } = await playInVirtualTime(played, { seed: 1, examine: true });
      return measures.find(({ id }) => id === "cause-named");
    };
    const right = await named("ghost-leader");
    expect(right?.held).toBe(true);
    // One examination of a minute.
    expect(right?.lockstep).toBeGreaterThan(60_000);
    expect(right?.lockstep).toBeLessThan(120_000);
    expect(await named("apiserver-fight")).toMatchObject({ lockstep: undefined, held: false });
  },
);
