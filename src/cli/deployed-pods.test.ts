// The pods that deploy/ describes are confined: no more rights than they need, and every resource has a
// bound of its own, so that no volume can take the room of another.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { isRecord, listAt, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { snapshotBytesMax } from "../outputs/nginx/snapshot-format.ts";
import { snapshotPathOf } from "../outputs/nginx/state-snapshot.ts";

const mebibyte = 1024 * 1024;

function podOf(path: string): RawRecord {
  const text = readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8");
  const objects = parseAllDocuments(text).map((one): unknown => one.toJS());
  const deployment = objects.filter(isRecord).find(({ kind }) => kind === "Deployment") ?? {};
  return recordAt(recordAt(recordAt(deployment, "spec"), "template"), "spec");
}

function bytesOf(quantity: unknown): number {
  const [, number, unit = ""] = /^(\d+)(Mi|Gi)$/.exec(String(quantity)) ?? [];
  const units: Readonly<Record<string, number>> = { Mi: mebibyte, Gi: 1024 * mebibyte };
  return Number(number) * (units[unit] ?? Number.NaN);
}

/** The emptyDir of each volume that is one, by the volume's name. */
function emptyDirs(pod: RawRecord): ReadonlyMap<string, RawRecord> {
  const volumes = listAt(pod, "volumes").filter(isRecord);
  return new Map(
    volumes
      .filter(({ emptyDir }) => isRecord(emptyDir))
      .map((volume) => [String(volume["name"]), recordAt(volume, "emptyDir")]),
  );
}

test.each(["ingress/ingress.yaml", "observer/observer.yaml", "sync/sync.yaml"])(
  "%s is confined",
  (path) => {
    const pod = podOf(path);
    expect(recordAt(pod, "securityContext")).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    for (const container of listAt(pod, "containers").filter(isRecord)) {
      expect(recordAt(container, "securityContext")).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      const { requests, limits } = recordAt(container, "resources");
      const [asked, limit] = [requests, limits].map((one) =>
        bytesOf(isRecord(one) ? one["memory"] : undefined),
      );
      expect(asked).toBeLessThanOrEqual(limit ?? 0);
      const inMemory = [...emptyDirs(pod).values()].filter(({ medium }) => medium === "Memory");
      const held = inMemory.reduce((sum, { sizeLimit }) => sum + bytesOf(sizeLimit), 0);
      // The content of a volume in memory counts as the container's.
      expect(held).toBeLessThan((limit ?? 0) / 2);
    }
    for (const { sizeLimit } of emptyDirs(pod).values())
      expect(bytesOf(sizeLimit)).toBeGreaterThan(0);
  },
);

test("state, logs and request bodies of the ingress have a volume each", () => {
  const pod = podOf("ingress/ingress.yaml");
  const [container = {}] = listAt(pod, "containers").filter(isRecord);
  const mounts = new Map(
    listAt(container, "volumeMounts")
      .filter(isRecord)
      .map(({ name, mountPath }) => [String(mountPath), String(name)]),
  );
  const prefix = "/var/lib/lockstep";
  const state = snapshotPathOf(prefix).replace(/\/[^/]+$/, "");
  const volumes = [prefix, state, `${prefix}/logs`, `${prefix}/temp`].map((at) => mounts.get(at));
  expect(new Set(volumes.filter((name) => name !== undefined)).size).toBe(4);
  // A new state is written beside the old one.
  const { sizeLimit } = emptyDirs(pod).get(mounts.get(state) ?? "") ?? {};
  expect(bytesOf(sizeLimit)).toBeGreaterThan(2 * snapshotBytesMax);
});
