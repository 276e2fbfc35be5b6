import { describe, expect, test } from "vitest";
import { listed, pod, rowsOf } from "../../../../tests/truth/service-facts.ts";

describe("never empty", () => {
  test("the terminating pods that still answer serve when no other does", () => {
    const words = {
      pods: [pod(1, { terminating: true }), pod(2, { ready: "False" })],
      published: [listed(2)],
    };
    expect(rowsOf(words)).toEqual([
      "10.0.0.1:8080 active (never empty): no better endpoint is left: its pod is " + "terminating",
      "10.0.0.2:8080 out (leave at once): its pod is not ready, but its EndpointSlice " +
        "still lists it as ready",
    ]);
  });
});
