import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { UpstreamLog } from "./upstream-log.ts";

test("every try of a request is noted with its address, whatever became of it", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const log = new UpstreamLog();
    const pod = simulation.host("pod").network;
    await pod.listen({ host: "10.0.0.2", port: 80 }, (exchange) => exchange.respond(204).end());
    const network = log.noting(simulation.host("proxy").network);
    const get = (address: string) =>
      network.request({ method: "GET", url: `http://${address}/a?request=7` });
    await expect(get("10.0.0.1:80")).rejects.toMatchObject({ code: "UNKNOWN_HOST" });
    expect((await get("10.0.0.2:80")).status).toBe(204);
    expect(log.upstreamsOf({ target: "/a?request=7" })).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(log.upstreamsOf({ target: "/a?request=8" })).toEqual([]);
  }));

test("what nginx wrote itself is taken over from its access log", () => {
  const log = new UpstreamLog();
  const line = { target: "/a?request=7", upstream: "10.0.0.1:80, 10.0.0.2:80" };
  log.read(`${JSON.stringify(line)}\nhalf of a li`);
  expect(log.upstreamsOf({ target: "/a?request=7" })).toEqual(["10.0.0.1", "10.0.0.2"]);
});
