// `lockstep sync` between three embedded clusters over HTTPS.
import { webcrypto } from "node:crypto";
import { expect, it } from "vitest";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { startLab } from "../src/lab/lab.ts";
import { withoutNginx } from "./proxy-world.ts";
import { followShops } from "./synced-shops.ts";

it.skipIf(withoutNginx)(
  "business clusters deploy, scale, roll and delete; the access cluster and its ingresses follow",
  async () => {
    const environment = nodeEnvironment({ log: { write: () => undefined } });
    const size = { clusters: 3, apiservers: 1, nodes: 1, host: "127.0.0.1", firstPort: 0 };
    const lab = await startLab({ environment, crypto: webcrypto, ...size });
    try {
      const [one, two, edge] = lab.clusters.map(({ access }) => access);
      if (!one || !two || !edge) throw new Error("the lab has too few clusters");
      const last = await followShops({ accesses: [one, two, edge], contexts: lab.contexts });
      expect(last).toEqual([404, 404]);
    } finally {
      await lab.stop();
    }
  },
);
