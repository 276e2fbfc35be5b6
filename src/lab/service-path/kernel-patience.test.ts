import { expect, it } from "vitest";
import { keepAlivePatienceMs, retransmissionPatienceMs } from "./kernel-patience.ts";

it("gives up after 15 retransmissions: ten waits that double from 0.2 s, then six of 120 s", () => {
  expect(retransmissionPatienceMs).toBe(0.2 * 1023 * 1000 + 6 * 120_000);
});

it("gives up an idle connection after 30 s and nine probes 30 s apart", () => {
  expect(keepAlivePatienceMs).toBe(300_000);
});
