// The election step by step, in virtual time and without latency.
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type History, LeaseServer, Replica } from "../../../tests/leader/leader-world.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { LeaderElectionOptions } from "./leader-election.ts";

/** No latency, so that every time in these tests is a whole one. */
const latency = () => 0;
const quiet: Partial<LeaderElectionOptions> = { onStartedLeading: () => undefined };

class World {
  readonly server = new LeaseServer();
  readonly #history: History = { reigns: [], writes: 0, lateWrites: [] };
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  start(name: string, election: Partial<LeaderElectionOptions> = quiet): Replica {
    const { server } = this;
    const simulation = this.#simulation;
    const history = this.#history;
    return new Replica({ simulation, server, name, uid: "uid", history, election });
  }
}

function withServer<Result>(
  main: (world: World, simulation: Simulation) => Promise<Result>,
): Promise<Result> {
  return simulate({ seed: 1, latency }, async (simulation) => {
    const world = new World(simulation);
    await world.server.listen(simulation.host("api"));
    return await main(world, simulation);
  });
}

test("the first replica creates the Lease and renews it with one write each retry period", async () => {
  const seen = await withServer(async (world, simulation) => {
    const replica = world.start("one");
    await simulation.sleep(4_500);
    return {
      requests: world.server.requests,
      lease: world.server.lease,
      leads: replica.election.isLeader(),
    };
  });
  const path = "/apis/coordination.k8s.io/v1/namespaces/lockstep/leases";
  expect(seen).toEqual({
    requests: [`GET ${path}/leader`, `POST ${path}`, `PUT ${path}/leader`, `PUT ${path}/leader`],
    lease: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "leader", namespace: "lockstep", resourceVersion: "3" },
      spec: {
        holderIdentity: "one_uid",
        leaseDurationSeconds: 15,
        acquireTime: "2026-01-01T00:00:00.000001Z",
        renewTime: "2026-01-01T00:00:04.000003Z",
        leaseTransitions: 0,
      },
    },
    leads: true,
  });
});

test("every replica can say who leads and since when", async () => {
  const leaders = await withServer(async (world, simulation) => {
    const leader = world.start("one");
    await simulation.sleep(1_000);
    const follower = world.start("two");
    const before = follower.election.leader();
    await simulation.sleep(500);
    return [before, leader.election.leader(), follower.election.leader()];
  });
  const known = {
    identity: "one_uid",
    since: "2026-01-01T00:00:00.000001Z",
    renewTime: "2026-01-01T00:00:00.000001Z",
    transitions: 0,
    isExpired: false,
  };
  expect(leaders).toEqual([undefined, known, known]);
});

test("a crashed leader is followed when its record has stood still for its duration", async () => {
  const seen = await withServer(async (world, simulation) => {
    const leaders: string[] = [];
    const leader = world.start("one");
    await simulation.sleep(1_000);
    const follower = world.start("two", {
      ...quiet,
      onNewLeader: (identity) => leaders.push(`${identity} at ${simulation.now()}`),
    });
    leader.crash({ vanish: true });
    await simulation.sleep(14_999);
    const before = [follower.election.isLeader(), follower.election.leader()?.isExpired];
    await simulation.sleep(4_401);
    return {
      before,
      after: follower.election.isLeader(),
      transitions: follower.election.leader()?.transitions,
      leaders: leaders.map((text) => text.split(" ")[0]),
    };
  });
  expect(seen).toEqual({
    before: [false, false],
    after: true,
    transitions: 1,
    leaders: ["one_uid", "two_uid"],
  });
});

test("a leader that stops frees the lock once its work has ended, and is followed at once", async () => {
  const seen = await withServer(async (world, simulation) => {
    const { timers } = simulation.host("one");
    const events: string[] = [];
    const note = (what: string) => events.push(`${what} at ${simulation.now()}`);
    const leader = world.start("one", {
      onStartedLeading: async (signal) => {
        note("started");
        await timers.sleep(60_000, signal).catch(() => note("asked to stop"));
        await timers.sleep(700);
        note("work ended");
      },
      onStoppedLeading: () => note("stopped leading"),
    });
    await simulation.sleep(1_000);
    const follower = world.start("two");
    await leader.stop();
    note(`free: ${world.server.lease?.spec.holderIdentity === ""}`);
    await simulation.sleep(4_400);
    return { events, state: leader.election.state, follows: follower.election.isLeader() };
  });
  expect(seen).toEqual({
    events: [
      "started at 0",
      "asked to stop at 1000",
      "stopped leading at 1000",
      "work ended at 1700",
      "free: true at 1700",
    ],
    state: "stopped",
    follows: true,
  });
});

test.each([
  { why: "it is not asked to", election: { ...quiet, releaseOnStop: false } },
  {
    why: "its work does not end",
    election: { onStartedLeading: () => new Promise<void>(() => undefined) },
  },
])("a leader that stops leaves the lock to expire when $why", async ({ election }) => {
  const seen = await withServer(async (world, simulation) => {
    const leader = world.start("one", election);
    await simulation.sleep(1_000);
    await leader.stop();
    return [
      world.server.lease?.spec.holderIdentity,
      leader.election.state,
      leader.election.isLeader(),
    ];
  });
  expect(seen).toEqual(["one_uid", "stopped", false]);
});

test("a leader whose lock was edited by hand steps down at its next renewal", async () => {
  const seen = await withServer(async (world, simulation) => {
    const leader = world.start("one");
    await simulation.sleep(1_000);
    world.server.edit("two_uid");
    await simulation.sleep(999);
    const before = leader.election.isLeader();
    await simulation.sleep(2);
    return [before, leader.election.isLeader(), leader.election.leader()?.identity];
  });
  expect(seen).toEqual([true, false, "two_uid"]);
});

test("one that must not stand takes no lock, however free, and asks about it only before taking", async () => {
  await withServer(async (world, simulation) => {
    let mayStand = true;
    let asked = 0;
    const election = {
      ...quiet,
      mayStand: () => {
        asked += 1;
        return Promise.resolve(mayStand);
      },
    };
    const replica = world.start("one", election);
    await simulation.sleep(1_000);
    mayStand = false;
    // A label, say: its next write is refused, it reads the lock, and that is still its own.
    world.server.edit("one_uid");
    await simulation.sleep(10_000);
    expect([replica.election.isLeader(), asked]).toEqual([true, 1]);
    world.server.lease = undefined;
    await simulation.sleep(2_000);
    expect(replica.election.isLeader()).toBe(false);
    await simulation.sleep(60_000);
    expect([replica.election.isLeader(), world.server.lease]).toEqual([false, undefined]);
    mayStand = true;
    await simulation.sleep(10_000);
    expect(replica.election.isLeader()).toBe(true);
  });
});

test("a leader cut off leads until its renew deadline, counted from its last renewal", async () => {
  const seen = await withServer(async (world, simulation) => {
    const stoppedAt: number[] = [];
    const leader = world.start("one", {
      ...quiet,
      onStoppedLeading: () => stoppedAt.push(simulation.now()),
    });
    await simulation.sleep(5_000);
    simulation.network.partition("one", "api");
    await simulation.sleep(8_999);
    const before = leader.election.isLeader();
    await simulation.sleep(1);
    return { before, after: leader.election.isLeader(), stoppedAt };
  });
  expect(seen).toEqual({ before: true, after: false, stoppedAt: [14_000] });
});

test("a leader's work that fails is logged and does not end the leadership", async () => {
  const seen = await withServer(async (world, simulation) => {
    const leader = world.start("one", {
      onStartedLeading: async () => {
        throw new Error("no permission");
      },
    });
    await simulation.sleep(3_000);
    const errors = simulation.logLines().filter((line) => line.level === "error");
    return {
      errors: errors.map(({ message, fields }) => [message, fields["error"]]),
      leads: leader.election.isLeader(),
    };
  });
  expect(seen).toEqual({
    errors: [["the leader's work failed", new Error("no permission")]],
    leads: true,
  });
});

test("unsafe times are refused before anything is asked of the server", async () => {
  await withServer(async (world) => {
    const start = () => world.start("one", { ...quiet, renewDeadlineMs: 20_000 });
    expect(start).toThrow("the lease duration (15000 ms) must be longer than");
    expect(world.server.requests).toEqual([]);
  });
});

test("its metrics say who leads, and how the lock is faring", async () => {
  const metrics = new Registry();
  const scrapes = await withServer(async (world, simulation) => {
    world.start("one", { ...quiet, metrics });
    await simulation.sleep(4_500);
    const leading = await metrics.metrics();
    simulation.network.partition("one", "api");
    await simulation.sleep(12_000);
    return [leading, await metrics.metrics()].map((text) =>
      text.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    );
  });
  expect(scrapes[0]).toEqual([
    'leader_election_master_status{name="leader"} 1',
    'lockstep_leader_since_seconds{name="leader",holder="one_uid"} 1767225600',
    'lockstep_leader_attempts_total{name="leader",outcome="ours"} 3',
    'lockstep_leader_terms_total{name="leader"} 1',
  ]);
  expect(scrapes[1]?.[0]).toBe('leader_election_master_status{name="leader"} 0');
});
