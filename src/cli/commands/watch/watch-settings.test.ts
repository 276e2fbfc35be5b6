import { expect, test } from "vitest";
import { nodeEnvironment } from "../../../environment/node/node-environment.ts";
import { type WatchFlags, watchSettings } from "./watch-settings.ts";

const environment = nodeEnvironment({ log: { level: () => "error" } });

const flags: WatchFlags = {
  context: [],
  allContexts: false,
  accessContext: [],
  namespace: [],
  service: [],
  slow: 2_000,
  accessLog: [],
  proxy: [],
  json: false,
  metricsAddress: "127.0.0.1",
  metricsHost: [],
  serviceLabels: 0,
  utc: false,
  anonymize: false,
};

test("the bounds of a history are as they were asked for, and the usual ones else", () => {
  const history = "/h.db";
  expect(watchSettings(environment, { ...flags, history }).retention).toEqual({});
  expect(
    watchSettings(environment, { ...flags, history, historyMaxAge: 1, historyMaxSize: 2 })
      .retention,
  ).toEqual({ ageMaxMs: 1, sizeMaxBytes: 2 });
});

test("a log format without an access log is refused", () => {
  expect(() => watchSettings(environment, { ...flags, logFormat: "$status" })).toThrow(
    "--log-format needs --access-log.",
  );
});

test("bounds of a history that is not kept are refused", () => {
  expect(() => watchSettings(environment, { ...flags, historyMaxAge: 1 })).toThrow(
    "--history-max-age and --history-max-size need --history.",
  );
});
