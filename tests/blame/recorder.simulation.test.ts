// `lockstep record` beside a cluster that releases, killed in the middle and started again, with
// another cluster that never answers: the recording is compared with the ledger.
import { describe, expect } from "vitest";
import { Evidence } from "../../src/blame/evidence.ts";
import { standingAt } from "../../src/blame/pod-life.ts";
import { RecordingReader } from "../../src/blame/recording-reader.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type Cluster, startCluster } from "../../src/lab/cluster.ts";
import { Ledger, type Spell } from "../../src/lab/kubelet/ledger.ts";
import { createShop, releaseShop } from "../../src/lab/shop.ts";
import { Recorder } from "../../src/recording/recorder.ts";
import { readRecording } from "../../src/recording/recording-file.ts";
import { forEachSeed, isThorough } from "../../src/simulation/seeds.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";

const path = "/pods.jsonl";

const podNetwork = "10.7";

function startRecorder(simulation: Simulation, cluster: Cluster, maxBytes: number): Recorder {
  const environment = simulation.host("recorder");
  const clientOf = (access: Cluster["access"]) =>
    new HttpKubeClient({ ...environment, cluster: access, userAgent: "lockstep-record" });
  const silent = fixedAccess({ name: "red", server: "http://nowhere:6443" });
  return new Recorder({
    ...environment,
    clusters: [
      { cluster: "red", client: clientOf(silent) },
      { cluster: "blue", client: clientOf(cluster.access) },
    ],
    namespaces: ["default"],
    path,
    maxBytes,
  });
}

function spellsOf(ledger: Ledger): readonly (Spell & { readonly address: string })[] {
  return Array.from({ length: 254 }, (_, index) => `${podNetwork}.0.${index + 1}`).flatMap(
    (address) => ledger.spells(address).map((spell) => ({ ...spell, address })),
  );
}

describe.runIf(isThorough(process.env))("a recording", () => {
  forEachSeed("has every pod from birth to end, also over a kill", { seeds: 1 }, recordOverKill);
});

function recordOverKill(seed: number): Promise<void> {
  return simulate({ seed }, async (simulation) => {
    const user = simulation.host("user");
    const ledger = new Ledger(user);
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      nodes: 2,
      podNetwork,
      profile: seed % 2 === 0 ? "1.33" : "1.17.3",
      ledger,
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    // Small enough that it is rotated.
    const maxBytes = 40_000;
    await startRecorder(simulation, cluster, maxBytes).start();
    await createShop(client, { terminationGracePeriodSeconds: 5 });
    await simulation.sleep(10_000);
    await releaseShop(client, "1");
    await simulation.sleep(2_000 + 20_000 * simulation.random.next());
    simulation.crash("recorder");
    await releaseShop(client, "2");
    await simulation.sleep(2_000 + 20_000 * simulation.random.next());
    const recorder = startRecorder(simulation, cluster, maxBytes);
    await recorder.start();
    await simulation.sleep(10_000);
    await releaseShop(client, "3");
    await simulation.sleep(30_000);
    const [red, blue] = recorder.observer.clusters();
    expect(red?.watches).toEqual([]);
    expect(blue?.watches.map(({ listed, failure }) => [listed, failure])).toEqual(
      Array.from({ length: 4 }, () => [true, undefined]),
    );
    const endMs = user.clock.wallMs();
    await recorder.stop();
    await recorder.stop();
    const { files } = simulation.host("recorder");
    const evidence = new Evidence();
    const reader = new RecordingReader(evidence);
    await readRecording(files, path, reader);
    expect(reader.counts.unreadable).toBeLessThanOrEqual(1);
    const spells = spellsOf(ledger);
    const known = spells.filter(({ podUid }) => evidence.lives.byUid(podUid) !== undefined);
    // Only pods that were born and died between recordings, or before the older file, are missing.
    expect(known.length).toBeGreaterThanOrEqual(8);
    for (const { address, podUid, until } of known) {
      const life = evidence.lives.byUid(podUid);
      expect(life?.facts.addresses).toEqual([address]);
      const standing = standingAt(life?.moments ?? [], endMs, "to");
      expect(standing.type).toBe(until === undefined ? "serving" : "left");
    }
    await cluster.stop();
  });
}
