import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { KubeClient, KubeRequest, KubeResponse } from "../../kube/client/client.ts";
import { simulate } from "../../simulation/simulation.ts";
import { ControllerClients } from "./controller-clients.ts";

const answer: KubeResponse = { status: 200, headers: {}, body: Buffer.from("{}") };
const answerMs = 10;

test("a controller with a high limit that deletes 1,000 pods opens at most 250 requests at once", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("controllers");
    const order: string[] = [];
    let open = 0;
    let mostOpen = 0;
    /** Every third request is refused. */
    const server: KubeClient = {
      request: async ({ path }) => {
        open += 1;
        mostOpen = Math.max(mostOpen, open);
        order.push(path);
        const number = order.length;
        await timers.sleep(answerMs);
        open -= 1;
        if (number % 3 === 0) throw new Error(`refused ${path}`);
        return answer;
      },
      stream: async () => await Promise.reject(new Error("not asked for")),
    };
    const client = new ControllerClients({
      clock,
      timers,
      clientFor: () => server,
      server: "https://10.0.0.1:6443",
      program: "kube-controller-manager",
      limit: { qps: 10_000, burst: 10_000 },
      onThrottled: () => undefined,
      registry: new Registry(),
      metricsForm: "duration-by-host",
    }).for("taint-eviction");
    const paths = Array.from({ length: 1_000 }, (_, pod) => `/api/v1/namespaces/a/pods/web-${pod}`);
    const remove = (path: string): KubeRequest => ({ verb: "delete", method: "DELETE", path });
    const results = await Promise.allSettled(paths.map((path) => client.request(remove(path))));
    expect({ mostOpen, open }).toEqual({ mostOpen: 250, open: 0 });
    expect(order).toEqual(paths);
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(333);
    expect(await client.request(remove("/api/v1/namespaces/a/pods/last"))).toBe(answer);
  }));
