import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import type { Incident, IncidentFindings } from "./incident.ts";
import { LiveTimeoutError, playLive } from "./live-stage.ts";
import type { Stage, StageProgress } from "./stage.ts";

const found: IncidentFindings = {
  timeline: [],
  figures: [
    {
      id: "drain",
      text: "drain time",
      unit: "ms",
      measured: 5,
      expected: [{ source: "write-up", text: "10–12 min", value: 660, from: 600, to: 720 }],
    },
  ],
  measures: [],
  series: [],
  fitted: ["this"],
};

function incident(play: (stage: Stage) => Promise<void>): Incident {
  return {
    name: "some-incident",
    summary: "",
    cause: "",
    rule: "",
    fix: "",
    play: async (open) => {
      await open(play);
      return found;
    },
  };
}

/** Plays it live, on a machine whose time is simulated. */
function playOn(
  play: (stage: Stage) => Promise<void>,
  options: { readonly stopAfterMs?: number; readonly progress?: StageProgress[] } = {},
) {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    const stop = new AbortController();
    const { stopAfterMs, progress } = options;
    if (stopAfterMs !== undefined) {
      environment.timers.after(stopAfterMs, () => stop.abort(new Error("Ctrl-C")));
    }
    const result = await playLive(incident(play), {
      environment,
      folder: "/run/this",
      seed: 4,
      signal: stop.signal,
      onProgress: (one) => void progress?.push(one),
    }).catch((error: unknown) => error);
    // Anything that a play left running would continue here.
    await simulation.sleep(3_600_000);
    return result;
  });
}

test("a play has machines with their own addresses and folders, and reports its steps", async () => {
  const seen: string[] = [];
  const progress: StageProgress[] = [];
  const play = async (stage: Stage): Promise<void> => {
    stage.say("a nap");
    seen.push(stage.hostOf("one"), stage.hostOf("two"), stage.hostOf("one"));
    seen.push(stage.folderOf("one"), stage.mode);
    await stage.sleep(1_000);
    seen.push(String(stage.now()));
  };
  const result = await playOn(play, { progress });
  expect(seen).toEqual([
    expect.stringMatching(/^127\.\d+\.254\.1$/),
    expect.stringMatching(/^127\.\d+\.254\.2$/),
    seen[0],
    "/run/this/one",
    "live",
    "1000",
  ]);
  expect(progress.map(({ step, stageMs }) => `${step} ${stageMs}`)).toEqual(
    [200, 400, 600, 800].map((ms) => `a nap ${ms}`),
  );
  expect(result).toMatchObject({
    name: "some-incident",
    stage: "live",
    seed: 4,
    durationMs: 1_000,
  });
});

test("figures of shorter times are shown beside the write-up's, not judged", async () => {
  expect(await playOn(async () => undefined)).toMatchObject({
    figures: [{ measured: 5, expected: [{ source: "write-up", text: "10–12 min" }] }],
    fitted: [
      "this",
      expect.stringContaining("not compared"),
      expect.stringContaining("real nginx"),
    ],
  });
});

test("a play that is called off ends at once, whatever it waits for, and nothing goes on", async () => {
  const events: string[] = [];
  const play = async (stage: Stage): Promise<void> => {
    const { timers } = stage.environmentOf("one");
    const tick = (): void => {
      events.push(`tick ${stage.now()}`);
      timers.after(1_000, tick);
    };
    tick();
    await new Promise(() => undefined);
  };
  expect(await playOn(play, { stopAfterMs: 2_500 })).toEqual(new Error("Ctrl-C"));
  expect(events).toEqual(["tick 0", "tick 1000", "tick 2000"]);
});

test("a play that never ends is ended, and says where it was", async () => {
  const play = async (stage: Stage): Promise<void> => {
    stage.say("waiting for Godot");
    await new Promise(() => undefined);
  };
  const error = await playOn(play);
  expect(error).toBeInstanceOf(LiveTimeoutError);
  expect(String(error)).toContain('still "waiting for Godot" after 8 minutes');
});

test("a play that fails is cleared away too", async () => {
  let late = false;
  const play = async (stage: Stage): Promise<void> => {
    stage.environmentOf("one").timers.after(1_000, () => {
      late = true;
    });
    throw new Error("no such service");
  };
  expect(await playOn(play)).toEqual(new Error("no such service"));
  expect(late).toBe(false);
});
