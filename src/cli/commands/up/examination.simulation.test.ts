// The evidence of a release is that of this release: an earlier one in the same clusters does not count.
import { expect, test } from "vitest";
import { change } from "../../../../tests/cli/watched-changes.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { Examination } from "./examination.ts";

const looksEveryMs = 20_000;

const throttled = [1, 2, 3].map(
  (second) =>
    `I0412 22:59:0${second}.914517       1 request.go:638] Throttling request took 2.4s, request: ` +
    `GET:https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web-${second}`,
);

/** The log got its lines, and the change was late, so long after the examination began. */
interface Times {
  readonly loggedMs: number;
  readonly changedMs: number;
}

/** The evidence after two looks. */
async function evidenceWith({ loggedMs, changedMs }: Times): Promise<readonly string[]> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const { clock, network, timers } = simulation.host("here");
    const listener = await network.listen({ host: "here", port: 10252 }, (exchange) => {
      exchange.respond(200, {}).end(Buffer.from("up 1\n"));
    });
    const startedAt = clock.monotonicMs();
    const client: Pick<KubeClient, "request"> = {
      request: ({ path }) => {
        const seconds = Number(/sinceSeconds=(\d+)/.exec(path)?.[1] ?? Number.POSITIVE_INFINITY);
        const isAsked = clock.monotonicMs() - (startedAt + loggedMs) <= 1_000 * seconds;
        const body = Buffer.from(isAsked ? throttled.join("\n") : "");
        return Promise.resolve({ status: 200, headers: {}, body });
      },
    };
    const late = change({ originMs: startedAt + changedMs, hops: { pod: 0, published: 9_000 } });
    const examination = new Examination({
      clock,
      network,
      client: client as KubeClient,
      pod: "kube-system/kube-controller-manager",
      metricsUrl: () => "http://here:10252/metrics",
      journeys: () => [late],
    });
    await timers.sleep(looksEveryMs);
    await examination.look();
    await timers.sleep(looksEveryMs);
    const finding = await examination.look();
    await listener.close();
    return finding?.evidence.map(({ text }) => text) ?? [];
  });
}

const [before, during] = [-5_000, 5_000];

test("the log and the changes of this release are evidence", async () => {
  expect(await evidenceWith({ loggedMs: during, changedMs: during })).toEqual([
    "3 requests for endpoints waited for the client's limit within 2 s, at most 2.4 s (GET /api/v1/namespaces/shop/endpoints/web-1)",
    "1 endpoint left: published after a median of 9 s, at most 9 s",
  ]);
});

test("changes of an earlier release are no evidence", async () => {
  expect(await evidenceWith({ loggedMs: during, changedMs: before })).toHaveLength(1);
});

test("without a line since the start there is no finding", async () => {
  expect(await evidenceWith({ loggedMs: before, changedMs: during })).toEqual([]);
});
