import { describe, expect, test } from "vitest";
import { Klog, keptLinesMax, structured } from "../../../components/klog.ts";
import type { PodLogRequest } from "../../../components/pod-logs.ts";
import type { BodyWriter } from "../../../environment/network.ts";
import { type Simulation, simulate } from "../../../simulation/simulation.ts";
import { profileNamed } from "../../versions/profiles.ts";
import { ComponentLogs } from "./component-logs.ts";
import { ThrottlingLog } from "./throttling-lines.ts";

const request: PodLogRequest = {
  namespace: "kube-system",
  name: "component",
  uid: "",
  container: "",
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  sinceSeconds: undefined,
};

test("a structured message quotes texts and leaves numbers", () => {
  expect(structured("Sync", { service: "a/b", n: 3, ok: true, err: 'a "b"' })).toBe(
    '"Sync" service="a/b" n=3 ok=true err="a \\"b\\""',
  );
});

describe("a component's log", () => {
  test("keeps the newest lines, oldest first", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const klog = new Klog({ ...simulation.host("h"), pid: 13_779 });
      for (let line = 0; line < keptLinesMax + 2; line += 1) klog.write("W", "a.go:1", `${line}`);
      const lines = klog.lines();
      expect([lines.length, lines.at(0)?.text, lines.at(-1)?.text]).toEqual([
        keptLinesMax,
        "W0101 00:00:00.000000   13779 a.go:1] 2",
        `W0101 00:00:00.000000   13779 a.go:1] ${keptLinesMax + 1}`,
      ]);
    }));

  test("is served by tail, by age, with times, and to followers until they leave", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { clock } = simulation.host("h");
      const klog = new Klog({ clock });
      const logs = new ComponentLogs({ clock });
      logs.set(request, klog);
      klog.write("I", "a.go:1", "one");
      await simulation.sleep(5000);
      klog.write("I", "a.go:1", "two");
      const read = async (asked: Partial<PodLogRequest>) => {
        const { writer, text } = recording();
        await logs.write({ ...request, ...asked }, writer, new AbortController().signal);
        return text();
      };
      const first = "I0101 00:00:00.000000       1 a.go:1] one\n";
      const second = "I0101 00:00:05.000000       1 a.go:1] two\n";
      expect(await read({})).toBe(first + second);
      expect(await read({ tailLines: 1 })).toBe(second);
      expect(await read({ tailLines: 0 })).toBe("");
      expect(await read({ sinceSeconds: 4 })).toBe(second);
      expect(await read({ previous: true })).toBe("");
      expect(await read({ name: "another" })).toBe("");
      expect(await read({ tailLines: 1, timestamps: true })).toBe(
        `2026-01-01T00:00:05.000000Z ${second}`,
      );
      await followed(simulation, klog, logs, second);
    }));
});

async function followed(simulation: Simulation, klog: Klog, logs: ComponentLogs, before: string) {
  const { writer, text } = recording();
  const closed = new AbortController();
  const asked = { ...request, follow: true, tailLines: 1 };
  const following = logs.write(asked, writer, closed.signal);
  await simulation.sleep(1000);
  klog.write("E", "b.go:2", "three");
  closed.abort();
  await following;
  klog.write("E", "b.go:2", "four");
  expect(text()).toBe(`${before}E0101 00:00:06.000000       1 b.go:2] three\n`);
}

/** A body that is only remembered. */
function recording(): { readonly writer: BodyWriter; readonly text: () => string } {
  const chunks: Uint8Array[] = [];
  const writer: BodyWriter = {
    write: (bytes) => void chunks.push(bytes),
    pendingBytes: 0,
    drained: () => Promise.resolve(),
    end: () => undefined,
    abort: () => undefined,
  };
  return { writer, text: () => Buffer.concat(chunks).toString("utf8") };
}

describe("throttling is logged", () => {
  const url = "https://10.0.0.1:6443/api/v1/namespaces/a/endpoints/b";

  /** The texts after waits of this long, one each 400 ms. */
  async function linesOf(profile: "1.7" | "1.33", verbosity: number, waitsMs: readonly number[]) {
    const klog: { current?: Klog } = {};
    await simulate({ seed: 1 }, async (simulation) => {
      const { clock } = simulation.host("h");
      klog.current = new Klog({ clock });
      const lines = profileNamed(profile).throttling;
      const log = new ThrottlingLog({ clock, klog: klog.current, lines, verbosity });
      for (const waitedMs of waitsMs) {
        log.report({ waitedMs, method: "GET", url });
        await simulation.sleep(400);
      }
    });
    return klog.current?.lines().map(({ text }) => text.slice("I0101 00:00:00.000000 ".length));
  }

  test("by 1.7 from verbosity 4 on, and below not at all", async () => {
    expect(await linesOf("1.7", 4, [2490])).toEqual([
      `      1 request.go:638] Throttling request took 2.49s, request: GET:${url}`,
    ]);
    expect(await linesOf("1.7", 3, [2490, 9000])).toEqual([]);
  });

  test("by 1.33 from verbosity 3 on, and long waits once more", async () => {
    const line = (at: number, delay: string) =>
      `      1 request.go:${at}] "Waited before sending request" delay="${delay}" ` +
      `reason="client-side throttling, not priority and fairness" verb="GET" URL="${url}"`;
    expect(await linesOf("1.33", 3, [250])).toEqual([line(683, "250ms")]);
    expect(await linesOf("1.33", 3, [1500])).toEqual([line(683, "1.5s"), line(752, "1.5s")]);
    expect(await linesOf("1.33", 0, [250])).toEqual([]);
  });

  test("by 1.33 at low verbosity as a sample", async () => {
    const waits = Array.from({ length: 50 }, () => 1500);
    // Twenty seconds, a wait each 0.4 s: one line each ten seconds, or each 1.2.
    expect((await linesOf("1.33", 0, waits))?.length).toBe(2);
    expect((await linesOf("1.33", 2, waits))?.length).toBe(17);
  });
});
