import { expect, test } from "vitest";
import { nodeEnvironment } from "../../../environment/node/node-environment.ts";
import { logFormat } from "../../flags.ts";
import { type WatchFlags, watchSettings } from "./settings.ts";

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

test("the limits of a history are the given ones, or the defaults", () => {
  const history = "/h.db";
  expect(watchSettings(environment, { ...flags, history }).retention).toEqual({});
  expect(
    watchSettings(environment, { ...flags, history, historyMaxAge: 1, historyMaxSize: 2 })
      .retention,
  ).toEqual({ ageMaxMs: 1, sizeMaxBytes: 2 });
});

test("a log format without an access log is refused", () => {
  expect(() => watchSettings(environment, { ...flags, logFormat: logFormat("$status") })).toThrow(
    "--log-format needs --access-log: add --access-log, or remove --log-format.",
  );
});

test("limits without --history are refused", () => {
  expect(() => watchSettings(environment, { ...flags, historyMaxAge: 1 })).toThrow(
    "--history-max-age needs --history: add --history, or remove --history-max-age.",
  );
});
