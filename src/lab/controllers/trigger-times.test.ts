import { expect, test } from "vitest";
import { podOf, serviceOf } from "../../../tests/controllers/controller-objects.ts";
import { TriggerTimes } from "./trigger-times.ts";

const created = Date.parse("2026-01-01T00:00:00Z");

function time(second: number): string {
  return `2026-01-01T00:00:0${second}Z`;
}

test("a first sync is triggered by the service's creation, later ones by changed pods", () => {
  const times = new TriggerTimes();
  const service = serviceOf();
  const a = (second: number) => podOf("a", { ready: true, readyAt: time(second) });
  const b = (second: number) => podOf("b", { ready: true, readyAt: time(second) });
  const seconds = [[a(5)], [a(5)], [a(8), b(7)], [a(8), b(7)], [a(9)], [a(9), b(7)]].map((pods) => {
    const next = times.next(service, pods);
    return next === undefined ? undefined : (next - created) / 1000;
  });
  // The fifth lost a pod, which alone would have shown nothing; to the sixth it is new.
  expect(seconds).toEqual([0, undefined, 7, undefined, 9, 7]);
});

test("a service that was forgotten begins again", () => {
  const times = new TriggerTimes();
  const service = serviceOf();
  const pods = [podOf("a", { ready: true, readyAt: time(5) })];
  times.next(service, pods);
  times.forget("default/web");
  expect(times.next(service, pods)).toBe(created);
});
