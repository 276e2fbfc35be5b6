import { expect, test } from "vitest";
import { change } from "../../../../tests/cli/watched-changes.ts";
import {
  environment,
  inThisThread,
  keptIn,
  withFolder,
} from "../../../../tests/history/history-world.ts";
import { Observer } from "../../../observe/observer.ts";
import { KeptJourneys } from "./kept-journeys.ts";

test("what is in flight at the end is in the history as pending, beside what is over or stuck", () =>
  withFolder(async (folder) => {
    const historyPath = `${folder}/h.db`;
    const kept = await KeptJourneys.open({
      environment,
      historyPath,
      retention: {},
      otlp: undefined,
      metricsPort: undefined,
      metricsAddress: "127.0.0.1",
      metricsHosts: [],
      serviceLabels: 0,
      startThread: inThisThread,
    });
    const { onEvent } = kept;
    const observer = new Observer({ ...environment, clusters: [], accessClusters: [], onEvent });
    await kept.follow(observer, observer.run);
    const over = change({ id: 8, hops: { pod: 0, published: 40 } });
    const inFlight = change({ id: 9, outcome: "pending", hops: { pod: 0, published: "pending" } });
    const [hop] = inFlight.hops;
    if (hop !== undefined) onEvent({ type: "shown", journey: inFlight, hop });
    onEvent({ type: "over", journey: over });
    kept.keepInFlight([inFlight]);
    await kept.close();
    const { name } = observer.run;
    expect(keptIn(historyPath).map(({ id, outcome }) => [id, outcome])).toEqual([
      [`${name}-8`, "complete"],
      [`${name}-9`, "pending"],
    ]);
  }));
