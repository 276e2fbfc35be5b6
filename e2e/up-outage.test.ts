// The page of `lockstep up` when an API server of its clusters answers no more, over real sockets. The
// API servers are part of the process, so a fault takes the place of a kill: every connection to the
// server breaks, and new ones do too.
import { webcrypto } from "node:crypto";
import { expect, it } from "vitest";
import { UpPage } from "../src/cli/commands/up/page/up-page.ts";
import { World } from "../src/cli/commands/up/world.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { RecordedTerminal } from "../tests/terminal/recorded-terminal.ts";
import { useOwnTemporaryFolder } from "./own-temporary-folder.ts";
import { UpPageClient } from "./up-page-client.ts";

useOwnTemporaryFolder();

const worldMs = 300_000;

it(
  "says that a cluster is unreachable, and that it is watched again",
  async () => {
    const environment = nodeEnvironment({ log: { level: () => "error" } });
    const { signal } = new AbortController();
    const terminal = new RecordedTerminal();
    const page = await UpPage.start({ environment, version: "1.2.3", terminal, stop: signal }, 0);
    const client = new UpPageClient(page.url.replace(/\/$/, ""));
    expect((await client.state()).clusters).toEqual([]);
    const world = new World({
      environment,
      crypto: webcrypto,
      folder: "/nowhere",
      proxies: false,
      followSlices: false,
      routes: "ingress",
      ports: { stock: 0, lockstep: 0 },
      onStep: () => undefined,
      onJourney: page.onEvent,
      onClusters: () => page.clustersRun(),
      signal,
    });
    page.follow(world);
    try {
      await world.start();
      const beta = (state: Awaited<ReturnType<UpPageClient["state"]>>) =>
        state.clusters.find(({ name }) => name === "beta");
      const until = (wanted: string) => client.untilState((state) => beta(state)?.state === wanted);
      const [server] = world.cluster("beta").servers;
      expect(beta(await until("watching"))?.apiServers).toMatchObject([
        { address: server?.url, state: "up" },
      ]);
      server?.apiServer.faults.setRules([{ match: {}, resets: { rate: 1 } }]);
      server?.apiServer.faults.cache.resetWatches();
      const away = await until("unreachable");
      expect(beta(away)).toMatchObject({
        detail: expect.stringMatching(/\S/),
        apiServers: [{ state: "down" }],
      });
      // The others are not harmed.
      expect(away.clusters.filter(({ state }) => state === "watching")).toHaveLength(2);
      server?.apiServer.faults.setRules([]);
      expect(beta(await until("watching"))?.apiServers).toMatchObject([{ state: "up" }]);
    } finally {
      await page.leaveWorld();
      await world.stop();
      await page.stop();
    }
  },
  worldMs,
);
