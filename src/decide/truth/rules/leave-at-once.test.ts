import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  listed,
  metadata,
  pod,
  rowsOf,
  seenAtMs,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";

describe("leaving at once", () => {
  const other = { pods: [pod(9)], published: [listed(9)] };
  const stays = "10.0.0.9:8080 active (join at once): its pod is ready";
  const leaves = (state: string, reason: string) =>
    `10.0.0.1:8080 ${state} (leave at once): ${reason}, but its EndpointSlice still lists it as ready`;
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    [
      "a terminating pod that still answers drains",
      { pods: [pod(1, { terminating: true })] },
      leaves("draining", "its pod is terminating"),
    ],
    [
      "a terminating pod that is no longer ready is out",
      { pods: [pod(1, { terminating: true, ready: "False" })] },
      leaves("out", "its pod is terminating and not ready"),
    ],
    [
      "an unready pod is out",
      { pods: [pod(1, { ready: "False" })] },
      leaves("out", "its pod is not ready"),
    ],
    [
      "a pod without a Ready condition is out",
      { pods: [pod(1, { ready: undefined })] },
      leaves("out", "its pod is not ready"),
    ],
    [
      "a pod that ended is out",
      { pods: [pod(1, { phase: "Failed" })] },
      leaves("out", "its pod has ended (Failed)"),
    ],
    ["a pod that is gone is out", { gone: ["uid-web-1"] }, leaves("out", "its pod was deleted")],
    [
      "a pod whose labels no longer match is out",
      { pods: [pod(1, { metadata: metadata("web-1", { labels: { app: "old" } }) })] },
      leaves("out", "its pod no longer matches the selector"),
    ],
  ];
  test.each(table)("%s", (_, words, expected) => {
    expect(
      rowsOf({
        pods: [...(words.pods ?? []), ...other.pods],
        published: [listed(1), ...other.published],
        ...(words.gone === undefined ? {} : { gone: words.gone }),
      }),
    ).toEqual([expected, stays]);
  });

  test("a pod that got another address leaves the old one and joins at the new one", () => {
    expect(rowsOf({ pods: [pod(1, { podIP: "10.0.0.5" })], published: [listed(1)] })).toEqual([
      leaves("out", "its pod has another address or port now"),
      "10.0.0.5:8080 active (join at once): its pod is ready, but its EndpointSlice" +
        " does not list it as ready yet",
    ]);
  });

  test("a terminating pod drains when nothing is fresher than the pod watch that says so", () => {
    const podWatch = { ...staleWatch, currentAtMs: seenAtMs };
    const words = { podWatch, publishedWatch: staleWatch, published: [listed(9)] };
    expect(rowsOf({ ...words, pods: [pod(1, { terminating: true })] })[0]).toBe(
      "10.0.0.1:8080 draining (leave at once): its pod is terminating",
    );
  });

  test("a terminating pod in a stale pod watch is out when fresher slices do not list it", () => {
    const words = {
      podWatch: staleWatch,
      pods: [pod(1, { terminating: true }), pod(2, { terminating: true })],
      published: [listed(2, { ready: false, serving: true, terminating: true }), listed(9)],
    };
    expect(rowsOf(words).slice(0, 2)).toEqual([
      "10.0.0.1:8080 out (leave at once): its pod is terminating, and its EndpointSlice " +
        "does not list it as serving",
      "10.0.0.2:8080 draining (leave at once): its pod is terminating",
    ]);
  });

  test("what cannot be undone holds in a stale pod watch; what can does not", () => {
    const words = {
      podWatch: staleWatch,
      pods: [pod(1, { terminating: true }), pod(2, { ready: "False" })],
      published: [listed(1), listed(2)],
    };
    expect(rowsOf(words)).toEqual([
      leaves("draining", "its pod is terminating"),
      "10.0.0.2:8080 active (follow the published endpoints): its EndpointSlice lists it " +
        "as ready, and the pod watch is stale: the server has not been reached for over 20 s",
    ]);
  });
});
