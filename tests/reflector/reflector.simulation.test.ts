// Reflectors against the lab's API servers while everything goes wrong that can: whatever happens,
// their objects and their freshness are true; and when it stops happening, they catch up.
import { expect } from "vitest";
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import { backoffMaxMs } from "../../src/kube/reflector/backoff.ts";
import { defaultCurrentWithinMs } from "../../src/kube/reflector/freshness.ts";
import { listDeadlineMs } from "../../src/kube/reflector/reflector-request.ts";
import { randomFaultPlan, withFaults } from "../../src/simulation/faults.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { type Cluster, inCluster } from "./reflector-cluster.ts";
import { observedKinds } from "./reflector-observed.ts";
import { logBetween, pick } from "./reflector-pick.ts";
import { blindForMs, contentProblem } from "./reflector-properties.ts";
import { randomServerFaults } from "./reflector-server-faults.ts";
import { appLabels, writtenNamespaces } from "./reflector-writers.ts";

/** A change takes a message to arrive. */
const healthyLagMs = 1_000;
/**
 * When the last fault ends, a request that will never be answered may just have begun. After it the
 * longest wait follows, and once more if the first list comes to nothing.
 */
const recoveredWithinMs = listDeadlineMs + 2 * backoffMaxMs + 5_000;
const hosts = ["client-1", "client-2"];
const clientNames = ["one", "two", "three", "four"];

forEachSeed(
  "whatever goes wrong, a reflector tells the truth, and catches up afterwards",
  { seeds: 30 },
  (seed) =>
    inCluster(
      seed,
      ({ random }) => ({
        serverNames: ["api-1", "api-2", "api-3"].slice(randomInt(random, 3)),
        clientNames,
        historyLimit: pick(random, [2, 10, undefined]),
        expiredWatchAnswer: pick(random, ["event", "status"]),
        meanBetweenWritesMs: logBetween(random, 200, 3_000),
      }),
      async (cluster) => {
        const { simulation, servers } = cluster;
        const { random } = simulation;
        observeSomething(random, cluster);
        await cluster.start();
        const quietAfterMs = randomBetween(random, 120_000, 420_000);
        const network = randomFaultPlan(random, {
          hosts: [...hosts, ...servers.map((server) => server.name)],
          quietAfterMs,
          meanBetweenMs: randomBetween(random, 10_000, 60_000),
        });
        const count = randomInt(random, 12);
        const options = { servers, clientNames, quietAfterMs, count };
        cluster.apply(withFaults(network, randomServerFaults(random, options)));
        for (const { reflector } of cluster.observed) {
          simulation.at(randomBetween(random, 0, 20_000), () => reflector.start());
        }
        await checkUntil(cluster, quietAfterMs + recoveredWithinMs);
        for (const observed of cluster.observed) {
          const blindMs = blindForMs(observed, simulation.now());
          if (blindMs > healthyLagMs) {
            cluster.fail(observed, `blind for ${blindMs} ms, long after the last fault`);
          }
        }
        await checkUntil(cluster, simulation.now() + defaultCurrentWithinMs);
        await cluster.writers.stop();
        await simulation.sleep(healthyLagMs);
        cluster.check();
        checkEnd(cluster);
      },
    ),
);

async function checkUntil(cluster: Cluster, untilMs: number): Promise<void> {
  const { simulation } = cluster;
  while (simulation.now() < untilMs) {
    await simulation.sleep(randomBetween(simulation.random, 0, 4_000));
    cluster.check();
  }
}

/** Healthy again, and in step with the storage to the last field. */
function checkEnd(cluster: Cluster): void {
  for (const observed of cluster.observed) {
    const isFresh = observed.reflector.freshness().fresh;
    const problem = isFresh ? contentProblem(observed) : "not fresh, long after the last fault";
    if (problem !== undefined) {
      cluster.fail(observed, problem);
    }
    expect(observed.reflector.store.size).toBeGreaterThan(0);
  }
}

function observeSomething(random: Random, cluster: Cluster): void {
  for (const name of clientNames.slice(randomInt(random, 3))) {
    const kind = pick(random, observedKinds);
    const isBalanced = random.next() < 0.2;
    cluster.observe({
      name,
      host: pick(random, hosts),
      kind,
      namespace: kind.watched.namespaced
        ? pick(random, [undefined, ...writtenNamespaces])
        : undefined,
      app: pick(random, [undefined, undefined, appLabels[0]]),
      pageSize: pick(random, [1, 2, 500]),
      initialList: pick(random, ["watchlist", "pages", "pages"]),
      servers: isBalanced ? cluster.servers : [pick(random, cluster.servers)],
      witness: random.next() < 0.2 ? pick(random, cluster.servers) : undefined,
    });
  }
}
