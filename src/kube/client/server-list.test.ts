import { expect, it } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import {
  doubtedMs,
  rememberedMs,
  restMaxMs,
  restMs,
  ServerList,
  serversMax,
} from "./server-list.ts";

function withList(
  act: (list: ServerList, sleep: (ms: number) => Promise<void>) => Promise<void> | void,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    await act(new ServerList(simulation.host("client")), (ms) => simulation.sleep(ms));
  });
}

it("uses a server only once it has answered", () =>
  withList((list) => {
    list.seen(["a:1", "b:1"]);
    expect(list.toAsk()).toEqual(["a:1", "b:1"]);
    expect(list.current).toBeUndefined();
    list.answered("b:1");
    expect(list.current).toBe("b:1");
    list.answered("a:1");
    expect(list.current).toBe("b:1");
    expect(list.proved).toBe(2);
  }));

it("remembers servers that no longer show, and forgets them in time", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1"]);
    list.answered("a:1");
    // However long ago it was listed first: it counts since when it is not.
    await sleep(10 * rememberedMs);
    list.seen(["b:1"]);
    await sleep(rememberedMs / 2);
    list.seen(["b:1"]);
    await sleep(rememberedMs / 2 - 1);
    expect([list.current, list.toAsk()]).toEqual(["a:1", ["b:1"]]);
    await sleep(1);
    expect([list.toAsk(), list.current]).toEqual([["b:1"], undefined]);
    list.answered("a:1");
    expect(list.current).toBeUndefined();
  }));

it("keeps a server that shows again in time", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1"]);
    list.answered("a:1");
    list.seen([]);
    await sleep(rememberedMs - 1);
    list.seen(["a:1"]);
    await sleep(rememberedMs);
    expect([list.toAsk(), list.current]).toEqual([[], "a:1"]);
  }));

it("turns to another when one fails, and asks that one again after a rest", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1", "b:1"]);
    list.answered("a:1");
    list.answered("b:1");
    list.failed("a:1");
    expect(list.current).toBe("b:1");
    list.failed("b:1");
    expect(list.current).toBeUndefined();
    expect(list.toAsk()).toEqual([]);
    await sleep(restMs);
    expect(list.toAsk()).toEqual(["a:1", "b:1"]);
  }));

it("asks a server that cannot be reached less and less often, until it answers", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1"]);
    const rests: number[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      // Requests that fail together are one failure.
      list.failed("a:1");
      list.failed("a:1");
      let restedMs = 0;
      for (; list.toAsk().length === 0; restedMs += restMs) await sleep(restMs);
      rests.push(restedMs / restMs);
    }
    expect(rests).toEqual([1, 2, 4, 8, 16, restMaxMs / restMs, restMaxMs / restMs]);
    list.answered("a:1");
    list.failed("a:1");
    await sleep(restMs);
    expect(list.toAsk()).toEqual(["a:1"]);
  }));

it("turns away from a server whose watches are behind, and back when all others are worse", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1", "b:1"]);
    list.answered("a:1");
    list.answered("b:1");
    list.doubted("a:1", "behind");
    expect(list.current).toBe("b:1");
    await sleep(1);
    list.doubted("b:1", "silent");
    expect(list.current).toBe("b:1");
    list.doubted("b:1", "behind");
    expect(list.current).toBe("a:1");
    await sleep(1);
    list.doubted("a:1", "behind");
    expect(list.current).toBe("b:1");
  }));

it("takes turns among servers that are silent, which may have nothing to say", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1", "b:1"]);
    list.answered("a:1");
    list.answered("b:1");
    const used: (string | undefined)[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      list.doubted(list.current ?? "", "silent");
      used.push(list.current);
      await sleep(1);
    }
    expect(used).toEqual(["b:1", "a:1", "b:1", "a:1"]);
  }));

it("forgets a doubt in time", () =>
  withList(async (list, sleep) => {
    list.seen(["a:1", "b:1"]);
    list.answered("a:1");
    list.answered("b:1");
    list.doubted("a:1", "behind");
    await sleep(doubtedMs - 1);
    list.seen(["a:1", "b:1"]);
    list.doubted("b:1", "silent");
    expect(list.current).toBe("b:1");
    await sleep(1);
    list.doubted("b:1", "silent");
    expect(list.current).toBe("a:1");
  }));

it("does not mind a word about a server it does not know or use", () =>
  withList((list) => {
    list.seen(["a:1", "b:1"]);
    list.answered("a:1");
    list.doubted("c:1", "behind");
    list.failed("c:1");
    list.doubted("b:1", "behind");
    expect(list.current).toBe("a:1");
  }));

it("keeps a bounded number of servers, and makes room by those it forgets", () =>
  withList(async (list, sleep) => {
    const many = Array.from({ length: serversMax + 5 }, (_, index) => `10.0.0.${index}:1`);
    list.seen(many);
    expect(list.toAsk()).toEqual(many.slice(0, serversMax));
    list.seen(["b:1"]);
    expect(list.toAsk()).not.toContain("b:1");
    await sleep(rememberedMs);
    list.seen(["b:1"]);
    expect(list.toAsk()).toEqual(["b:1"]);
  }));
