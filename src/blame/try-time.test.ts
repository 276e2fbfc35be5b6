import { expect, test } from "vitest";
import { at, request, startMs } from "../../tests/blame/blame-world.ts";
import { lengthOf, orderOf } from "./span.ts";
import { requestSent, triesTimes } from "./try-time.ts";

function relative(spans: readonly { readonly fromMs: number; readonly toMs: number }[]) {
  return spans.map(({ fromMs, toMs }) => [fromMs - startMs, toMs - startMs]);
}

test("each try was sent when the one before it was over", () => {
  const entry = request(10, [{ durationMs: 3_000 }, { durationMs: 2_000 }]);
  const times = triesTimes(entry, { skewMs: 0 });
  expect(relative(times.map(({ sent }) => sent))).toEqual([
    [5_000, 5_000],
    [8_000, 8_000],
  ]);
  expect(relative(times.map(({ over }) => over))).toEqual([
    [8_000, 8_000],
    [10_000, 10_000],
  ]);
});

test("whole seconds, the proxy's own time and clocks that differ leave room", () => {
  const coarse = request(10, [{ durationMs: 1_000 }], { resolutionMs: 1_000, durationMs: 1_400 });
  expect(relative(triesTimes(coarse, { skewMs: 0 }).map(({ sent }) => sent))).toEqual([
    [8_600, 9_999],
  ]);
  expect(relative(triesTimes(coarse, { skewMs: 100 }).map(({ sent }) => sent))).toEqual([
    [8_500, 10_099],
  ]);
  expect(relative([requestSent(coarse, { skewMs: 0 })])).toEqual([[8_600, 9_599]]);
});

test("without durations a try is as old as its line", () => {
  const entry = request(10, [{ durationMs: undefined }], { durationMs: undefined });
  expect(relative(triesTimes(entry, { skewMs: 0 }).map(({ sent }) => sent))).toEqual([
    [10_000, 10_000],
  ]);
});

test("an order is certain only where the spans do not overlap", () => {
  const early = { fromMs: at(1), toMs: at(3) };
  const late = { fromMs: at(3), toMs: at(4) };
  const both = { fromMs: at(2), toMs: at(3.5) };
  expect([orderOf(early, late), orderOf(late, early), orderOf(early, both)]).toEqual([
    "before",
    "after",
    "unclear",
  ]);
  expect(lengthOf(early, both)).toEqual({ leastMs: 0, mostMs: 2_500 });
  expect(lengthOf(early, late)).toEqual({ leastMs: 0, mostMs: 3_000 });
});
