import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  listed,
  pod,
  refusedWatch,
  rowsOf,
  service,
} from "../../../../tests/truth/service-facts.ts";

describe("when pods do not decide", () => {
  const published = [
    listed(1, { pod: undefined }),
    listed(2, { ready: false }),
    listed(3, { ready: false, serving: true, terminating: true }),
  ];
  const followed = (why: string) => [
    "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it as " +
      `ready, and ${why}`,
    "10.0.0.2:8080 out (follow the published endpoints): its EndpointSlice lists it as not ready",
    "10.0.0.3:8080 draining (follow the published endpoints): its EndpointSlice lists it " +
      "as terminating and serving",
  ];

  test("a service without a selector follows what is published", () => {
    const words = { service: service({ selector: undefined }), published };
    expect(rowsOf(words)).toEqual(followed("the service has no selector"));
  });

  test("without permission to watch pods the slices are followed", () => {
    expect(rowsOf({ podWatch: refusedWatch, published })).toEqual(
      followed("there is no permission to watch pods"),
    );
  });

  test("an endpoint that names no pod, as written by hand, is believed", () => {
    expect(rowsOf({ published: [listed(1, { pod: undefined })] })).toEqual([
      "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it " +
        "as ready, and it has no pod",
    ]);
  });

  test("a published pod that the watch has yet to show is believed", () => {
    expect(rowsOf({ published: [listed(1)] })).toEqual([
      "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it " +
        "as ready, and its pod is not known yet",
    ]);
  });
});

describe("following the slices", () => {
  const words: FactsInWords = {
    pods: [pod(1, { terminating: true }), pod(2), pod(3)],
    published: [listed(1), listed(3, { ready: false })],
  };
  const expected = [
    "10.0.0.1:8080 active (follow the slices exactly): its EndpointSlice lists it as " +
      "ready, and routing follows the slices",
    "10.0.0.2:8080 out (follow the slices exactly): no EndpointSlice lists it, and routing " +
      "follows the slices",
    "10.0.0.3:8080 out (follow the slices exactly): its EndpointSlice lists it as not " +
      "ready, and routing follows the slices",
  ];

  test("for everything, by policy", () => {
    expect(rowsOf(words, { followSlices: true })).toEqual(expected);
  });

  test("for one service, by its annotation", () => {
    const annotations = { "lockstep.dev/follow-slices": "true" };
    expect(rowsOf({ ...words, service: service({ annotations }) })).toEqual(expected);
  });
});
