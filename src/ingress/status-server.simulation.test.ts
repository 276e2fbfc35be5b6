import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { readBounded } from "../kube/client/http-client-body.ts";
import { simulate } from "../simulation/simulation.ts";
import { RoutedJournal } from "./routed-journal.ts";
import { startStatusServer } from "./status-server.ts";

it("before the first decision it says so, instead of showing no endpoints", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const here = simulation.host("here");
    const listener = await startStatusServer({
      network: here.network,
      host: "here",
      port: 10260,
      metrics: new Registry(),
      journal: new RoutedJournal({ ...here, onRouted: () => undefined }),
      state: () => ({}),
      readiness: () => ({
        problem: "the clusters have not been listed yet",
        notes: ["pods of east were never listed: connection refused"],
      }),
      explain: () => Promise.resolve(undefined),
      endpoints: () => Promise.resolve(undefined),
    });
    for (const path of ["/explain?host=shop.example&path=/", "/endpoints?service=shop/web"]) {
      const url = `http://here:10260${path}`;
      const { status, body } = await here.network.request({ method: "GET", url });
      expect({ status, text: (await readBounded(body, 1_000, url)).toString() }).toEqual({
        status: 503,
        text: "not ready: nothing is decided yet\npods of east were never listed: connection refused\n",
      });
    }
    await listener.close();
  }));
