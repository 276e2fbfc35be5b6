// The two control planes that are compared: the real programs, in real time, and the lab's own
// server and controllers in virtual time.
import { setTimeout as sleep } from "node:timers/promises";
import { Klog } from "../../../src/components/klog.ts";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../../src/kube/credentials/credentials.ts";
import type { ControllerFlags } from "../../../src/lab/controllers/flags.ts";
import { runControllerManager } from "../../../src/lab/controllers/kube-controllers.ts";
import type { ControllerName } from "../../../src/lab/controllers/started-controllers.ts";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  type RealControlPlane,
  type RealManager,
  startRealControlPlane,
} from "../harness/real-control-plane.ts";
import type { Side } from "./side.ts";

export interface SideOptions {
  readonly controllers: readonly ControllerName[];
  /** Of both controller managers, whose flags have the same names. */
  readonly flags: Partial<ControllerFlags>;
}

/**
 * Longer than any delay of a controller before it looks again at a foreign change (1 s) or at an
 * object missing from its cache (1 s).
 */
const quietMs = 1600;
const askAgainAfterMs = 100;

/** The same, and what it takes to look again and again, in virtual time. */
const virtualQuietMs = 20_000;

export async function onRealSide<T>(
  { controllers, flags }: SideOptions,
  run: (side: Side, plane: RealControlPlane) => Promise<T>,
): Promise<T> {
  const plane = await startRealControlPlane();
  try {
    const environment = nodeEnvironment();
    const cluster = fixedAccess({
      name: "real",
      server: plane.url,
      token: plane.token,
      tls: { ca: plane.ca },
    });
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: "histories" });
    const settle: Side["settle"] = async (witness) => {
      const started = environment.clock.monotonicMs();
      const isQuiet = () => {
        const now = environment.clock.monotonicMs();
        return now - Math.max(started, witness.lastAt) > quietMs;
      };
      while (!isQuiet()) await sleep(askAgainAfterMs);
    };
    const start = (changed: Partial<ControllerFlags> = {}): Promise<RealManager> => {
      const all = Object.entries({ ...flags, ...changed });
      return plane.startControllerManager(
        controllers,
        all.map(([name, value]) => `--${name}=${value}`),
      );
    };
    let manager = await start();
    const restart: Side["restart"] = async (changed) => {
      await manager.process.stop();
      manager = await start(changed);
      await manager.process.ready(() => isAtWork(manager, plane.token));
    };
    return await run({ client, environment, settle, restart }, plane);
  } finally {
    await plane.stop();
  }
}

/** Its informers are complete once it has counted a sync of each service; healthy alone is not. */
async function isAtWork({ url, ca }: RealManager, token: string): Promise<boolean> {
  const { network } = nodeEnvironment();
  const response = await network.request({
    method: "GET",
    url: `${url}/metrics`,
    headers: { authorization: `Bearer ${token}` },
    tls: { ca },
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return workedQueues.every((name) => new RegExp(worked(name), "m").test(text));
}

const workedQueues = ["endpoint", "endpoint_slice", "endpoint_slice_mirroring"];

function worked(queue: string): string {
  return `^workqueue_work_duration_seconds_count\\{name="${queue}"\\} [1-9]`;
}

export async function onLabSide<T>(
  { controllers, flags }: SideOptions,
  run: (side: Side) => Promise<T>,
): Promise<T> {
  const results: T[] = [];
  await inApiWorld(async ({ simulation }) => {
    const environment = simulation.host("master");
    const server = "https://server:6443";
    const cluster = fixedAccess({ name: "lab", server, token: "admin-token" });
    const clientFor = (userAgent: string) =>
      new HttpKubeClient({ ...environment, cluster, userAgent });
    const klog = new Klog({ clock: environment.clock });
    const start = (changed: Partial<ControllerFlags> = {}) => {
      const stop = new AbortController();
      const running = runControllerManager(
        {
          environment,
          cluster: "lab",
          server,
          clientFor,
          profile: "1.36",
          controllers,
          flags: { ...flags, ...changed, "leader-elect": false },
          klog,
        },
        stop.signal,
      );
      return async () => {
        stop.abort(new Error("the controllers are to end"));
        await running;
      };
    };
    let stop = start();
    const side: Side = {
      client: clientFor("histories"),
      environment,
      settle: () => simulation.sleep(virtualQuietMs),
      restart: async (changed) => {
        await stop();
        stop = start(changed);
      },
    };
    results.push(await run(side));
    await stop();
  });
  const [result] = results;
  if (result === undefined) throw new Error("the lab's side played nothing");
  return result;
}
