import { expect, it } from "vitest";
import { readBehaviour } from "./pod-behaviour.ts";

const defaults = {
  readyAfterMs: 0,
  responseTimeMs: 0,
  onTerm: "drain",
  drainTimeMs: 20_000,
  crashAfterMs: undefined,
  status: 200,
};

it("is the default without annotations, and leaves those of others alone", () => {
  expect(readBehaviour({ "example.com/status": "x" })).toEqual({
    behaviour: defaults,
    problems: [],
  });
});

it("follows every annotation", () => {
  const annotations = {
    "lab.lockstep.dev/ready-after": "1m30s",
    "lab.lockstep.dev/response-time": "250ms",
    "lab.lockstep.dev/on-term": "ignore",
    "lab.lockstep.dev/drain-time": "0.5s",
    "lab.lockstep.dev/crash-after": "0",
    "lab.lockstep.dev/status": "503",
  };
  expect(readBehaviour(annotations)).toEqual({
    behaviour: {
      readyAfterMs: 90_000,
      responseTimeMs: 250,
      onTerm: "ignore",
      drainTimeMs: 500,
      crashAfterMs: 0,
      status: 503,
    },
    problems: [],
  });
});

it.each(["", "5", "-1s", "1 s", "1e3s", "s", "200h", "1d", "1s2"])(
  "does not take %j for a duration",
  (text) => {
    expect(readBehaviour({ "lab.lockstep.dev/ready-after": text })).toEqual({
      behaviour: defaults,
      problems: [
        `The annotation lab.lockstep.dev/ready-after is ${JSON.stringify(text)}; it should be a ` +
          "duration such as 250ms, 2s or 1m30s, at most 168h.",
      ],
    });
  },
);

it("reports what it cannot follow, and a name it does not know", () => {
  const annotations = {
    "lab.lockstep.dev/on-term": "explode",
    "lab.lockstep.dev/status": "100",
    "lab.lockstep.dev/redy-after": "1s",
  };
  expect(readBehaviour(annotations)).toEqual({
    behaviour: defaults,
    problems: [
      'The annotation lab.lockstep.dev/on-term is "explode"; it should be exit, drain or ignore.',
      'The annotation lab.lockstep.dev/status is "100"; it should be a status from 200 to 599.',
      "The annotation lab.lockstep.dev/redy-after is not known; known are ready-after, " +
        "response-time, on-term, drain-time, crash-after, status.",
    ],
  });
});
