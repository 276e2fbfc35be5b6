import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import type { Environment } from "../../environment/environment.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import {
  ClientGoElection,
  type ClientGoElectionOptions,
  type MissedTry,
} from "./client-go-election.ts";
import { readLockObject, writeLockObject } from "./lock-object.ts";

/** Other figures than any component's, so that none can be built in. */
const times = { leaseDurationMs: 12_000, renewDeadlineMs: 8_000, retryPeriodMs: 3_000 };
const configMap = { kind: "ConfigMap", namespace: "default", name: "leader" } as const;
const limits = { deadlineMs: 1_000 };

/** A message there and back, twice. */
const aMomentMs = 20;

interface Candidate {
  readonly terms: [startedMs: number, endedMs: number | undefined][];
  readonly missed: MissedTry[];
  readonly leaders: string[];
  stop(): Promise<void>;
}

function clientOf(environment: Environment): HttpKubeClient {
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  return new HttpKubeClient({ ...environment, cluster, userAgent: "test" });
}

function compete(
  { simulation }: ApiWorld,
  identity: string,
  options: Partial<ClientGoElectionOptions> = {},
): Candidate {
  const environment = simulation.host(identity);
  const stopping = new AbortController();
  const terms: Candidate["terms"] = [];
  const missed: MissedTry[] = [];
  const leaders: string[] = [];
  const election = new ClientGoElection({
    ...environment,
    ...times,
    client: clientOf(environment),
    lock: configMap,
    identity,
    waitsFor: "own duration",
    renewsUnread: false,
    onStartedLeading: () => void terms.push([simulation.now(), undefined]),
    onStoppedLeading: () => {
      const term = terms.at(-1);
      if (term !== undefined) term[1] = simulation.now();
    },
    onNewLeader: (leader) => void leaders.push(leader),
    onMissed: (one) => void missed.push(one),
    ...options,
  });
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) await election.run(stopping.signal);
  };
  const running = run();
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the end"));
    await running;
  };
  return { terms, missed, leaders, stop };
}

/** As an operator does with kubectl edit. */
async function edit({ client }: ApiWorld, lock: ClientGoElectionOptions["lock"], holder: string) {
  const kube = clientOf(client);
  const current = await readLockObject(kube, lock, limits);
  if (current === undefined) throw new Error("there is no lock");
  await writeLockObject(kube, lock, current, { ...current.record, holder }, limits);
}

test("a ConfigMap that people made keeps its data, and gets the record with whole seconds", () =>
  inApiWorld(async (world) => {
    const path = "/api/v1/namespaces/default/configmaps";
    const data = { note: "ours" };
    await world.call("POST", path, { metadata: { name: "leader" }, data });
    const one = compete(world, "one");
    await world.simulation.sleep(times.retryPeriodMs + aMomentMs);
    const { json } = await world.call("GET", `${path}/leader`);
    expect(json).toMatchObject({
      data,
      metadata: {
        annotations: {
          "control-plane.alpha.kubernetes.io/leader":
            '{"holderIdentity":"one","leaseDurationSeconds":12,' +
            '"acquireTime":"2026-01-01T00:00:00Z","renewTime":"2026-01-01T00:00:03Z",' +
            '"leaderTransitions":1}',
        },
      },
    });
    expect(one.leaders).toEqual(["one"]);
    await one.stop();
  }));

test("a record that is changed again and again is never taken, whether or not its holder exists", () =>
  inApiWorld(async (world) => {
    const kube = clientOf(world.client);
    const nobody = {
      holder: "nobody-at-all",
      leaseDurationMs: 1_000,
      acquireTime: undefined,
      renewTime: undefined,
      transitions: 4,
    };
    let current = await writeLockObject(kube, configMap, undefined, nobody, limits);
    const one = compete(world, "one");
    // Just inside the candidate's own duration each time, though the record's is long over.
    const everyMs = times.leaseDurationMs - times.retryPeriodMs;
    for (let second = 0; second < 20; second += 1) {
      await world.simulation.sleep(everyMs);
      const renewTime = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
      current = await writeLockObject(kube, configMap, current, { ...nobody, renewTime }, limits);
    }
    expect(one.terms).toEqual([]);
    expect(new Set(one.missed.map((missed) => JSON.stringify(missed)))).toEqual(
      new Set(['{"kind":"held","holder":"nobody-at-all"}']),
    );
    const lastMs = world.simulation.now();
    await world.simulation.sleep(60_000);
    const tookMs = (one.terms[0]?.[0] ?? 0) - lastMs;
    // It sees the last change up to a jittered retry late, and looks again up to another one late.
    const lookMs = times.retryPeriodMs * 2.2 + aMomentMs;
    expect(tookMs).toBeGreaterThan(times.leaseDurationMs);
    expect(tookMs).toBeLessThan(times.leaseDurationMs + 2 * lookMs);
    await one.stop();
  }));

test.each([
  { waitsFor: "own duration", shortestMs: 12_000, longestMs: 12_000 + 6_620 },
  { waitsFor: "recorded duration", shortestMs: 60_000, longestMs: 60_000 + 6_620 },
] as const)(
  "a record that says 60 s is waited out for the $waitsFor",
  ({ waitsFor, shortestMs, longestMs }) =>
    inApiWorld(async (world) => {
      const record = {
        holder: "gone",
        leaseDurationMs: 60_000,
        acquireTime: undefined,
        renewTime: undefined,
        transitions: 0,
      };
      await writeLockObject(clientOf(world.client), configMap, undefined, record, limits);
      const startedMs = world.simulation.now();
      const one = compete(world, "one", { waitsFor });
      await world.simulation.sleep(80_000);
      const tookMs = (one.terms[0]?.[0] ?? 0) - startedMs;
      expect(tookMs).toBeGreaterThanOrEqual(shortestMs);
      expect(tookMs).toBeLessThanOrEqual(longestMs);
      await one.stop();
    }),
);

test("after an edit by hand the one that is named leads, and the displaced one until its deadline", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const old = compete(world, "old");
    await simulation.sleep(1_000);
    const chosen = compete(world, "chosen");
    await simulation.sleep(30_000);
    const editedMs = simulation.now();
    await edit(world, configMap, "chosen");
    await simulation.sleep(60_000);
    const tookMs = (chosen.terms[0]?.[0] ?? 0) - editedMs;
    expect(tookMs).toBeLessThanOrEqual(times.retryPeriodMs * 2.2 + aMomentMs);
    const ledOnMs = (old.terms[0]?.[1] ?? 0) - editedMs;
    // The round in which it finds out begins within a retry period, and is waited out.
    expect(ledOnMs).toBeGreaterThanOrEqual(times.renewDeadlineMs - aMomentMs);
    expect(ledOnMs).toBeLessThanOrEqual(times.retryPeriodMs + times.renewDeadlineMs + aMomentMs);
    const held = await readLockObject(clientOf(world.client), configMap, limits);
    // The edited record is kept as the person left it: it was not the named one that took it.
    expect(held?.record).toMatchObject({ holder: "chosen", transitions: 0 });
    expect(old.missed.every((missed) => missed.kind === "held")).toBe(true);
    expect([old.terms.length, chosen.terms.length]).toEqual([1, 1]);
    await Promise.all([old.stop(), chosen.stop()]);
  }));

test("a holder that renews without reading meets the edit as a conflict", () =>
  inApiWorld(async (world) => {
    const lock = { ...configMap, kind: "Lease" } as const;
    const modern = { lock, waitsFor: "recorded duration", renewsUnread: true } as const;
    const old = compete(world, "old", modern);
    await world.simulation.sleep(10_000);
    await edit(world, lock, "chosen");
    await world.simulation.sleep(times.retryPeriodMs + aMomentMs);
    expect(old.missed).toEqual([
      {
        kind: "failed",
        at: "unread update",
        isConflict: true,
        text: expect.stringContaining("the object has been modified"),
      },
      { kind: "held", holder: "chosen" },
    ]);
    await old.stop();
  }));
