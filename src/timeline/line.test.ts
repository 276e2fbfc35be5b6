import { describe, expect, test } from "vitest";
import { ms, pod, published, replica, web } from "../../tests/observer/observed.ts";
import { Change } from "./change.ts";
import { settleMs } from "./journey-limits.ts";
import { aheadOf, type Cursor, follow, settlesAt, standBefore } from "./line.ts";
import { Place } from "./place.ts";
import type { Direction } from "./witness.ts";

const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };

type Begun = readonly [direction: Direction, at: number, aheadFrom?: number];
type Stepped = readonly [direction: Direction, at: number];

/** A line with changes, ids 1, 2, …, and one witness that listed the endpoint before them. */
class Followed {
  readonly line = new Place().add(endpoint);
  readonly changes: readonly Change[];
  readonly cursor: Cursor;

  constructor(begun: readonly Begun[], before: Direction = "join") {
    const state = { direction: before, at: ms(0), origin: "first" } as const;
    this.cursor = this.line.begin(published, state, []);
    this.changes = begun.map(([direction, at, aheadFrom = at], index) => {
      const beginning = { direction, at: ms(at), aheadFrom: ms(aheadFrom) };
      return new Change(index + 1, this.line, beginning);
    });
  }

  step(...steps: readonly Stepped[]): this {
    for (const [direction, at] of steps) {
      const step = { witness: published, direction, at: ms(at) };
      Object.assign(this.cursor, { direction, at: ms(at), steps: [...this.cursor.steps, step] });
    }
    return this;
  }

  /** The settled changes: their ids with the time at which they were shown. */
  at(now: number, currentAt = now): readonly string[] {
    const settled = follow(this.cursor, this.changes, { now: ms(now), currentAt: ms(currentAt) });
    return settled.map(({ change }) => `${change.id} at ${this.#shownAt(change)}`);
  }

  settlesAt(now = 0): number | undefined {
    return settlesAt(this.cursor, this.changes, ms(now));
  }

  state(id: number): string | undefined {
    const context = { isPassedBy: () => this.cursor.through >= id };
    const change = this.changes[id - 1];
    return change?.hopTime(published, context).state.type;
  }

  #shownAt(change: Change): number {
    const { state } = change.hopTime(published, { isPassedBy: () => false });
    return state.type === "shown" ? change.originAt + state.lagMs : Number.NaN;
  }
}

describe("a witness that begins to report", () => {
  const change = (direction: Direction): Change =>
    new Change(7, new Place().add(endpoint), { direction, at: ms(1_000), aheadFrom: ms(1_000) });
  const begin = (direction: Direction, newest: Change): Cursor =>
    newest.line.begin(published, { direction, at: ms(1_500), origin: "first" }, [newest]);

  test("has passed the newest change where it shows the same, which is unchanged there", () => {
    const newest = change("leave");
    const cursor = begin("leave", newest);
    expect(cursor.through).toBe(7);
    expect(aheadOf(cursor, [newest])).toEqual([]);
    const { state } = newest.hopTime(published, { isPassedBy: () => false });
    expect(state).toEqual({ type: "unchanged" });
  });

  test("has yet to show the newest change, and none before it, where it shows the opposite", () => {
    const newest = change("leave");
    const cursor = begin("join", newest);
    expect(cursor.through).toBe(6);
    expect(aheadOf(cursor, [newest])).toEqual([newest]);
    expect(newest.isMarkedBy(published)).toBe(false);
  });

  test("marks no change that is over", () => {
    const newest = change("leave");
    newest.outcome = "complete";
    expect(begin("leave", newest).through).toBe(7);
    expect(newest.isMarkedBy(published)).toBe(false);
  });

  test("loses its unclear steps when it begins again", () => {
    const seen = new Followed([["leave", 1_000]]).step(["leave", 500], ["join", 600]);
    standBefore(seen.cursor, seen.changes[0]);
    expect(seen.cursor).toMatchObject({ through: 0, steps: [] });
  });

  test("is found by hop and name, and is gone when it is forgotten", () => {
    const line = new Place().add(endpoint);
    for (const witness of [pod, replica("r1"), replica("r2")]) {
      line.begin(witness, { direction: "join", at: ms(0), origin: "step" }, []);
    }
    expect(line.cursorOf({ hop: "routed", name: "r2" })?.witness).toEqual(replica("r2"));
    line.forget(replica("r1"));
    line.forget(replica("r3"));
    expect(line.cursors.map(({ witness }) => witness.name)).toEqual(["east", "r2"]);
  });
});

describe("steps that show every change", () => {
  test("are settled at once where the witness has caught up", () => {
    const seen = new Followed([["leave", 1_000]]).step(["leave", 1_200]);
    expect(seen.at(1_200, 900)).toEqual(["1 at 1200"]);
    expect(seen.cursor).toMatchObject({ through: 1, steps: [] });
  });

  test("are settled when the watermark has passed them, where changes are left to show", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 2_000],
    ]).step(["leave", 5_000]);
    expect(seen.at(5_000, 5_000)).toEqual([]);
    expect(seen.settlesAt(5_000)).toBe(5_001);
    expect(seen.at(5_100, 5_001)).toEqual(["1 at 5000"]);
    expect(aheadOf(seen.cursor, seen.changes).map(({ id }) => id)).toEqual([2]);
    expect(seen.step(["join", 6_000]).at(6_000)).toEqual(["2 at 6000"]);
  });

  test("each show their own change, however late they are", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 2_000],
      ["leave", 3_000],
    ]).step(["leave", 31_000], ["join", 32_000], ["leave", 33_000]);
    expect(seen.at(33_000)).toEqual(["1 at 31000", "2 at 32000", "3 at 33000"]);
  });
});

describe("a witness that left changes out", () => {
  test("is settled after quiet, and its step shows the newest change that had begun", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 1_100],
      ["leave", 1_200],
    ]).step(["leave", 3_000]);
    expect(seen.settlesAt()).toBe(3_000 + settleMs);
    expect(seen.at(2_999 + settleMs)).toEqual([]);
    expect(seen.at(3_000 + settleMs)).toEqual(["3 at 3000"]);
    expect([1, 2, 3].map((id) => seen.state(id))).toEqual(["passed", "passed", "shown"]);
  });

  test("is quiet since the newest change, not only since its own last step", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 9_000],
    ]);
    expect(seen.settlesAt()).toBe(9_000 + settleMs);
    expect(seen.at(8_999 + settleMs)).toEqual([]);
    expect(seen.state(2)).toBe("pending");
    expect(seen.at(9_000 + settleMs)).toEqual([]);
    expect([1, 2].map((id) => seen.state(id))).toEqual(["passed", "unchanged"]);
  });

  test("had it so all along where the only change is one it never differed from", () => {
    const seen = new Followed([["join", 1_000]]);
    expect(seen.at(1_000)).toEqual([]);
    expect(seen.state(1)).toBe("unchanged");
    expect(seen.cursor.through).toBe(1);
  });

  test("shows no change that began after its step and had not begun at the watermark", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 2_000, 1_900],
      ["leave", 9_000, 8_900],
    ]).step(["leave", 3_000]);
    expect(seen.at(9_000)).toEqual(["1 at 3000"]);
    expect(seen.at(9_000 + settleMs)).toEqual([]);
    expect([1, 2, 3].map((id) => seen.state(id))).toEqual(["shown", "passed", "unchanged"]);
  });

  test("that is behind stays before the changes after its last step, after quiet as well", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 1_100],
      ["leave", 1_200],
      ["join", 1_300],
    ]).step(["leave", 5_000]);
    expect(seen.at(5_000 + settleMs)).toEqual(["3 at 5000"]);
    expect(aheadOf(seen.cursor, seen.changes).map(({ id }) => id)).toEqual([4]);
    expect(seen.settlesAt()).toBeUndefined();
  });

  test("and takes too many steps is settled without quiet", () => {
    const seen = new Followed([
      ["leave", 1_000],
      ["join", 1_100],
      ["leave", 1_200],
    ]);
    for (let at = 2_000; at < 2_016; at += 1) seen.step([at % 2 === 0 ? "leave" : "join", at]);
    expect(seen.step(["leave", 2_016]).at(2_016)).toContain("3 at 2016");
  });
});

describe("a step that was reported before the change", () => {
  test("shows it rather than one before, if the reference reported hardly later", () => {
    const begun: readonly Begun[] = [
      ["leave", 1_000],
      ["join", 2_000],
    ];
    const near = new Followed([...begun, ["leave", 9_099, 0]]).step(["leave", 9_000]);
    expect(near.at(9_099 + settleMs)).toEqual(["3 at 9000"]);
    const far = new Followed([...begun, ["leave", 9_100, 0]]).step(["leave", 9_000]);
    expect(far.at(9_100)).toEqual(["1 at 9000"]);
  });

  test("shows it if it came after the watermark that the reference had then", () => {
    const seen = new Followed([["leave", 1_000, 700]]).step(["leave", 701]);
    expect(seen.at(1_000)).toEqual(["1 at 701"]);
    expect(seen.changes[0]?.originAt).toBe(701);
  });

  test("shows none of the other direction", () => {
    const seen = new Followed([
      ["leave", 1_000, 0],
      ["join", 1_050, 0],
    ]).step(["leave", 900]);
    expect(seen.at(1_100)).toEqual(["1 at 900"]);
  });

  test("shows nothing if all until then had been reported by the reference", () => {
    const seen = new Followed([["leave", 1_000, 700]]).step(["leave", 700]);
    expect(seen.at(1_000)).toEqual([]);
    expect(seen.state(1)).toBe("unchanged");
  });

  test("shows nothing if the witness took it back before the change", () => {
    const seen = new Followed([["leave", 1_000, 0]]).step(["leave", 500], ["join", 900]);
    expect(seen.at(1_000)).toEqual([]);
    expect(seen.state(1)).toBe("pending");
  });

  test("shows it if the witness took it back only after the change", () => {
    const seen = new Followed([["leave", 1_000, 0]]).step(["leave", 500], ["join", 1_500]);
    seen.at(1_500 + settleMs);
    expect(seen.changes[0]?.originAt).toBe(500);
  });
});

test("nothing is due for a witness that has shown all, or has shown nothing and is behind", () => {
  const done = new Followed([["leave", 1_000]]).step(["leave", 1_200]);
  done.at(1_200);
  expect(done.settlesAt()).toBeUndefined();
  const behind = new Followed([["leave", 1_000]]);
  expect(behind.settlesAt()).toBeUndefined();
  expect(behind.at(1_000 + 2 * settleMs)).toEqual([]);
  expect(behind.state(1)).toBe("pending");
});
