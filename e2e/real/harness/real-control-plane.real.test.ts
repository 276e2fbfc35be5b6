import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { realVersions } from "./real-binaries.ts";
import { type RealControlPlane, startRealControlPlane } from "./real-control-plane.ts";

async function gitVersion({ url, ca, token }: RealControlPlane): Promise<unknown> {
  const { body } = await nodeEnvironment().network.request({
    method: "GET",
    url: `${url}/version`,
    headers: { authorization: `Bearer ${token}` },
    tls: { ca },
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const answer: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  return answer;
}

it("is the version that is pinned, and leaves nothing behind", async () => {
  const plane = await startRealControlPlane({ controllers: ["endpointslice-controller"] });
  try {
    expect(await gitVersion(plane)).toMatchObject({ gitVersion: realVersions().kubernetes });
    expect(plane.controllerManager?.isRunning).toBe(true);
  } finally {
    await plane.stop();
  }
  expect(plane.servers.map(({ process: server }) => server.isRunning)).toEqual([false]);
  expect(plane.etcd.isRunning).toBe(false);
  expect(existsSync(plane.folder)).toBe(false);
});
