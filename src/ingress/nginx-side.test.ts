import { expect, test } from "vitest";
import type { WallMs } from "../environment/clock.ts";
import type { RememberedEndpoints } from "../model/remembered-endpoint.ts";
import { entryLines, SnapshotContent, snapshotAgeMaxMs } from "../outputs/nginx/snapshot-format.ts";
import { snapshotPathOf } from "../outputs/nginx/state-snapshot.ts";
import { simulate } from "../simulation/simulation.ts";
import { readRemembered } from "./nginx-output.ts";

const prefix = "/nginx";

const value = { addresses: ["10.0.0.1"], ports: [80], names: ["east/shop/web-1"] };

function saved(at: number): Buffer {
  const content = new SnapshotContent();
  const entry = { kind: "service", name: "shop/web:80", version: 1 } as const;
  content.add(entryLines({ ...entry, value: JSON.stringify(value) }, { uids: ["uid-1"] }));
  // Any instant.
  return content.finish(at as WallMs);
}

function remembered(
  content: ((nowMs: number) => Buffer) | undefined,
): Promise<RememberedEndpoints> {
  return simulate({ seed: 1 }, async (simulation) => {
    const { files, clock } = simulation.host("edge");
    await files.makeDirectory(`${prefix}/state`);
    if (content !== undefined) await files.write(snapshotPathOf(prefix), content(clock.wallMs()));
    return (await readRemembered({ files, clock }, prefix)).services;
  });
}

test("what was served last is remembered for a day", async () => {
  const endpoint = { cluster: "east", address: "10.0.0.1", port: 80, podUid: "uid-1" };
  const expected = new Map([["shop/web:80", [{ ...endpoint, podName: "web-1" }]]]);
  expect(await remembered((now) => saved(now - snapshotAgeMaxMs))).toEqual(expected);
  expect(await remembered((now) => saved(now - snapshotAgeMaxMs - 1))).toEqual(new Map());
});

test.each([
  ["no file", undefined],
  ["a damaged file", (now: number) => saved(now).subarray(0, -2)],
])("of %s nothing is remembered", async (_, content) => {
  expect(await remembered(content)).toEqual(new Map());
});
