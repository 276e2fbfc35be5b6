import { describe, expect, test } from "vitest";
import { listed, pod, rowsOf, service, staleWatch } from "../../../../tests/truth/service-facts.ts";

describe("joining at once", () => {
  test("a ready pod joins before a slice lists it, or lists it as ready", () => {
    const early = "its pod is ready, but its EndpointSlice does not list it as ready yet";
    expect(rowsOf({ pods: [pod(1), pod(2)], published: [listed(2, { ready: false })] })).toEqual([
      `10.0.0.1:8080 active (join at once): ${early}`,
      `10.0.0.2:8080 active (join at once): ${early}`,
    ]);
  });

  test("a pod without an address is no endpoint yet", () => {
    expect(rowsOf({ pods: [pod(1, { podIP: "" })] })).toEqual([]);
  });

  test("a stale pod watch adds no endpoint", () => {
    expect(rowsOf({ podWatch: staleWatch, pods: [pod(1)] })).toEqual([
      "10.0.0.1:8080 out (follow the published endpoints): no EndpointSlice lists it, and " +
        "the pod watch is stale: the server has not been reached for over 20 s",
    ]);
  });

  test("a service may ask for pods that are not ready", () => {
    const words = {
      service: service({ publishNotReadyAddresses: true }),
      pods: [pod(1, { ready: "False" })],
      published: [listed(1)],
    };
    expect(rowsOf(words)).toEqual([
      "10.0.0.1:8080 active (join at once): the service accepts pods that are not ready",
    ]);
  });
});
