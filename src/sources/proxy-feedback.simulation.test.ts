import { expect, test } from "vitest";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import type { EndpointId } from "./endpoint-id.ts";
import { ProxyFeedback, type ProxyReport, reportEveryMs } from "./proxy-feedback.ts";

/** How long the proxy takes to answer. */
const tellMs = 10;

const report = (revision: number, ...keys: string[]): ProxyReport => ({
  revision,
  unreached: keys.map((key) => ({ key: key as EndpointId, ageMs: 0 })),
});

/** A feedback whose proxy says these one after the other, and then nothing more. */
function feedbackIn(simulation: Simulation, says: (ProxyReport | undefined)[]) {
  const asked: string[] = [];
  const changes: string[] = [];
  const answered: string[] = [];
  const seconds = () => `${Math.round(simulation.now() / 100) / 10} s`;
  const feedback = new ProxyFeedback({
    ...simulation.host("proxy"),
    reporter: {
      report: (since, signal) => {
        asked.push(`since ${since} at ${seconds()}`);
        if (says.length > 0) return Promise.resolve(says.shift());
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      },
      answered: async (peers) => {
        answered.push(peers.join(" "));
        await simulation.sleep(tellMs);
      },
    },
    onChange: (peers) => changes.push(`${[...peers].join(" ")} at ${seconds()}`),
  });
  return { feedback, asked, changes, answered };
}

test("unreached peers that answered a probe are reported to the proxy, together where they can be", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { feedback, answered } = feedbackIn(simulation, [report(1, "a", "b", "c")]);
    feedback.start();
    await simulation.sleep(reportEveryMs);
    for (const peer of ["a", "b", "c", "reached", "b"]) feedback.answered(peer as EndpointId);
    await simulation.sleep(10 * tellMs);
    expect(answered).toEqual(["a", "b c"]);
    await feedback.stop();
    feedback.answered("a" as EndpointId);
    expect(answered).toEqual(["a", "b c"]);
  }));

test("additions and removals are reported, at most once a second", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const says = [report(1, "a"), report(2, "a", "b"), report(2, "a", "b"), report(3, "b")];
    const { feedback, asked, changes } = feedbackIn(simulation, says);
    feedback.start();
    await simulation.sleep(20 * reportEveryMs);
    expect(asked).toEqual([
      "since undefined at 0 s",
      "since 1 at 1 s",
      "since 2 at 2 s",
      "since 2 at 3 s",
      "since 3 at 4 s",
    ]);
    expect(changes).toEqual(["a at 0 s", "b at 1 s", "a at 3 s"]);
    expect(feedback.unreached).toEqual(new Set(["b"]));
    await feedback.stop();
  }));

test("a proxy that cannot be asked says nothing, and is asked for everything when it is back", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const says = [report(7, "a"), undefined, undefined, report(0)];
    const { feedback, asked, changes } = feedbackIn(simulation, says);
    feedback.start();
    await simulation.sleep(20 * reportEveryMs);
    expect(asked).toEqual([
      "since undefined at 0 s",
      "since 7 at 1 s",
      "since undefined at 2 s",
      "since undefined at 3 s",
      "since 0 at 4 s",
    ]);
    expect([changes, feedback.unreached]).toEqual([["a at 0 s", "a at 1 s"], new Set()]);
    await feedback.stop();
    await feedback.stop();
  }));
