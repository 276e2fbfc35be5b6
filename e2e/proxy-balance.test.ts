// How real nginx chooses endpoints: the promise of each method, over two workers that share their
// knowledge.
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { Balance, RoutePolicy } from "../src/decide/route-policy.ts";
import { freePort } from "../src/lab/free-port.ts";
import { openBlackHole } from "./black-hole.ts";
import { PolicyWorld, rule } from "./policy-world.ts";
import { type Backend, withoutNginx } from "./proxy-world.ts";

const closedPort = "127.0.77.250:9";

describe.skipIf(withoutNginx !== false)("the choice of an endpoint", () => {
  const world = PolicyWorld.forFile(async () => ({ workers: 2 }));
  let slots = 1000;

  /** Endpoints keep their slots and names as long as the test does. */
  class Service {
    readonly name: string;
    readonly #slots = new Map<string, number>();

    constructor(name: string) {
      this.name = name;
    }

    async route(policy: RoutePolicy): Promise<void> {
      await world().hosts({ [this.name]: [rule("/", this.name, policy)] });
    }

    /** Tiers of endpoints, each `address:port`. */
    async push(tiers: readonly (readonly string[])[], other: object = {}): Promise<void> {
      const peers = tiers.flat();
      const value = {
        tiers: tiers.map((tier) => tier.length),
        addresses: peers.map((peer) => peer.split(":")[0]),
        ports: peers.map((peer) => Number(peer.split(":")[1])),
        slots: peers.map((peer) => this.slotOf(peer)),
        names: peers.map((peer) => `c1/d/pod-at-${peer}`),
        ...other,
      };
      await world().change(JSON.stringify({ services: { [this.name]: value } }));
    }

    slotOf(peer: string): number {
      const known = this.#slots.get(peer);
      if (known !== undefined) return known;
      slots += 1;
      this.#slots.set(peer, slots);
      return slots;
    }

    /** How often each endpoint answered, of so many requests, one after the other. */
    async spread(count: number): Promise<Counts> {
      const counts: Record<string, number> = {};
      for (let sent = 0; sent < count; sent += 1) {
        const { status, body } = await world().ask(this.name);
        const who = status === 200 ? body : String(status);
        counts[who] = (counts[who] ?? 0) + 1;
      }
      return counts;
    }

    async counters(peer: string): Promise<object | undefined> {
      const { counters } = await world().proxy.control().counters();
      return counters.find(({ slot }) => slot === this.slotOf(peer));
    }
  }

  const backends = async (names: readonly string[]): Promise<readonly Backend[]> =>
    Promise.all(names.map((name) => world().proxy.backend(name)));

  const peersOf = (some: readonly Backend[]): readonly string[] => some.map(({ peer }) => peer);

  it("goes by weight, and to the next tier only when the first is gone", async () => {
    const service = new Service("weighted");
    const [light, heavy, spare] = await backends(["light", "heavy", "spare"]);
    const first = peersOf([light, heavy].flatMap((one) => one ?? []));
    await service.route({});
    await service.push([first, peersOf([spare].flatMap((one) => one ?? []))], {
      weights: [1, 3, 1],
    });
    const counts = await service.spread(200);
    expect(Object.keys(counts).sort()).toEqual(["heavy", "light"]);
    expect(Math.abs((counts["heavy"] ?? 0) - 150)).toBeLessThanOrEqual(5);
    await light?.close();
    await heavy?.close();
    expect(await service.spread(20)).toEqual({ spare: 20 });
  });

  it("prefers the quicker of two, and learns it in all workers", async () => {
    const service = new Service("latency");
    const slow = await world().proxy.backend("slow", async (exchange) => {
      // Slower than the other by this, however slow both are.
      await world().proxy.environment.timers.sleep(400);
      exchange.respond(200).end(Buffer.from("slow"));
    });
    const quick = await world().proxy.backend("quick");
    await service.route({ balance: { method: "least-latency" } });
    await service.push([[slow.peer, quick.peer]]);
    await service.spread(20);
    const counts = await service.spread(100);
    expect(counts["quick"]).toBeGreaterThan(85);
    expect(await service.counters(slow.peer)).toMatchObject({ latencyMs: expect.any(Number) });
  });

  it("gives one that just joined a small share that grows with time", async () => {
    const service = new Service("slow-start");
    const [one, two, fresh] = await backends(["one", "two", "fresh"]);
    if (one === undefined || two === undefined || fresh === undefined) throw new Error("no pods");
    await service.route({ balance: { method: "least-latency" } });
    await service.push([[one.peer, two.peer]]);
    await service.spread(20);
    const joinedAt = performance.now();
    await service.push([[one.peer, two.peer, fresh.peer]]);
    const count = 100;
    const { fresh: got = 0 } = await service.spread(count);
    // At most the share that it had at the end, if it was drawn every time; and some luck.
    const share = Math.min((performance.now() - joinedAt) / 10_000, 1);
    expect(got).toBeLessThanOrEqual(count * share + 10);
  });

  it("moves only the keys of an endpoint that leaves", async () => {
    const service = new Service("hash");
    const ten = await backends(Array.from({ length: 10 }, (_, index) => `h${index}`));
    const balance: Balance = {
      method: "hash",
      hashBy: [{ text: "user " }, { variable: "arg_user" }, { variable: "http_x_shop" }],
    };
    await service.route({ balance });
    await service.push([peersOf(ten)]);
    const keys = Array.from({ length: 200 }, (_, index) => index);
    const owners = async (): Promise<readonly string[]> => {
      const headers = { "x-shop": "one" };
      const answers = keys.map((key) => world().ask("hash", `/?user=${key}`, { headers }));
      return (await Promise.all(answers)).map(({ body }) => body);
    };
    const before = await owners();
    expect(await owners()).toEqual(before);
    expect(new Set(before).size).toBe(10);
    await service.push([peersOf(ten.slice(1))]);
    const after = await owners();
    const moved = keys.filter((key) => before[key] !== after[key]);
    expect(moved).toEqual(keys.filter((key) => before[key] === "h0"));
    expect(new Set(moved.map((key) => after[key])).size).toBeGreaterThan(1);
  });

  it("keeps a session at its endpoint until that leaves", async () => {
    const service = new Service("sticky.example");
    const pods = await Promise.all(
      ["s0", "s1", "s2"].map((name) =>
        world().proxy.backend(name, (exchange) =>
          exchange.respond(200, { "set-cookie": "own=1" }).end(Buffer.from(name)),
        ),
      ),
    );
    await service.route({
      balance: {
        method: "round-robin",
        affinity: {
          cookie: "route",
          mode: "persistent",
          path: "/shop",
          domain: "sticky.example",
          maxAgeSeconds: 3600,
          sameSite: "Lax",
          secure: true,
        },
      },
    });
    await service.push([peersOf(pods)]);
    const first = await world().ask("sticky.example");
    const [cookie = "", own] = [...(first.headers["set-cookie"] ?? [])].sort().reverse();
    expect(own).toBe("own=1");
    expect(cookie).toMatch(
      /^route=e[0-9a-f]{16}; Path=\/shop; Domain=sticky.example; Max-Age=3600; HttpOnly; Secure; SameSite=Lax$/,
    );
    const headers = { cookie: `other=1; ${cookie.split(";")[0]}` };
    for (let count = 0; count < 8; count += 1) {
      const again = await world().ask("sticky.example", "/", { headers });
      expect([again.body, again.headers["set-cookie"]]).toEqual([first.body, ["own=1"]]);
    }
    const left = pods.filter((_, index) => `s${index}` !== first.body);
    await service.push([peersOf(left)]);
    const moved = await world().ask("sticky.example", "/", { headers });
    expect(moved.status).toBe(200);
    expect(moved.body).not.toBe(first.body);
    expect(moved.headers["set-cookie"]).toContainEqual(expect.stringMatching(/^route=e/));
    const tampered = { cookie: "route=e0000000000000000" };
    const other = await world().ask("sticky.example", "/", { headers: tampered });
    expect(other.status).toBe(200);
    expect(other.headers["set-cookie"]).toContainEqual(expect.stringMatching(/^route=e(?!0{16})/));
  });

  it("keeps a session by a header, which only the answer that begins it has", async () => {
    const service = new Service("named.example");
    const pods = await backends(["n0", "n1", "n2"]);
    await service.route({ balance: { method: "round-robin", sessionHeader: "X-Shop-Session" } });
    await service.push([peersOf(pods)]);
    const first = await world().ask("named.example");
    const session = String(first.headers["x-shop-session"]);
    expect([session, first.headers["set-cookie"]]).toEqual([
      expect.stringMatching(/^e[0-9a-f]{16}$/),
      undefined,
    ]);
    const headers = { "x-shop-session": session };
    for (let count = 0; count < 8; count += 1) {
      const again = await world().ask("named.example", "/", { headers });
      expect([again.body, again.headers["x-shop-session"]]).toEqual([first.body, undefined]);
    }
    await service.push([peersOf(pods.filter((_, index) => `n${index}` !== first.body))]);
    const moved = await world().ask("named.example", "/", { headers });
    expect(moved.status).toBe(200);
    expect(moved.headers["x-shop-session"]).not.toBe(session);
  });

  it("redistributes balanced sessions, and changes the cookie after a failure if asked", async () => {
    const service = new Service("balanced.example");
    const pods = await backends(["b0", "b1", "b2"]);
    const affinity = { cookie: "route", mode: "balanced", changeOnFailure: true } as const;
    await service.route({ balance: { method: "round-robin", affinity } });
    await service.push([peersOf(pods)]);
    const first = await world().ask("balanced.example");
    const [cookie = ""] = first.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^route=s[0-9a-f]{16}; Path=\/; HttpOnly$/);
    const headers = { cookie: cookie.split(";")[0] ?? "" };
    const again = await world().ask("balanced.example", "/", { headers });
    expect([again.body, again.headers["set-cookie"]]).toEqual([first.body, undefined]);
    await pods.find((_, index) => `b${index}` === first.body)?.close();
    const moved = await world().ask("balanced.example", "/", { headers });
    const [changed = ""] = moved.headers["set-cookie"] ?? [];
    expect([moved.status, changed]).toEqual([200, expect.stringMatching(/^route=e/)]);
    const pinned = { cookie: changed.split(";")[0] ?? "" };
    const last = await world().ask("balanced.example", "/", { headers: pinned });
    expect([last.body, last.headers["set-cookie"]]).toEqual([moved.body, undefined]);
  });

  it("tries as many endpoints as the route says, each once", async () => {
    const service = new Service("tries");
    const [fine] = await backends(["fine"]);
    const dead = Array.from({ length: 6 }, (_, index) => `127.0.77.${240 + index}:9`);
    await service.push([dead, [fine?.peer ?? ""]]);
    await service.route({ tries: 3 });
    expect((await world().ask("tries")).status).toBe(502);
    // A worker takes note of the last failure after the answer, and another may be asked next.
    const control = world().proxy.control();
    const slots = dead.map((peer) => service.slotOf(peer));
    await world().proxy.until(async () => {
      const { suspects } = await control.suspects(undefined);
      return suspects.filter(({ slot }) => slots.includes(slot)).length === 3;
    });
    await service.route({ tries: 7 });
    expect((await world().ask("tries")).body).toBe("fine");
    expect(await service.spread(10)).toEqual({ fine: 10 });
    for (const peer of dead) expect(await service.counters(peer)).toMatchObject({ failures: 1 });
  });

  it("repeats a GET elsewhere after the route's read timeout, and never a POST", async () => {
    const service = new Service("timeouts");
    const silent = await world().proxy.backend("silent", () => undefined);
    const [fine] = await backends(["fine"]);
    // The other must answer within that as well.
    await service.route({ timeouts: { readMs: 1_000 } });
    await service.push([[silent.peer], [fine?.peer ?? ""]]);
    expect((await world().ask("timeouts")).body).toBe("fine");
    const post = await world().ask("timeouts", "/", { method: "POST", body: "once" });
    expect(post.status).toBe(504);
    expect([silent.requests, fine?.requests]).toEqual([["GET /", "POST / once"], ["GET /"]]);
  });

  it("asks again when a kept connection was closed, and never sends a POST twice", async () => {
    const service = new Service("kept");
    const asked: string[] = [];
    let closed = 0;
    // The first request of a connection is answered, the second ends it.
    const server = createServer((socket) => {
      let isKept = false;
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        asked.push(chunk.toString("latin1").split(" ")[0] ?? "");
        if (isKept) {
          closed += 1;
          socket.destroy();
        } else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        isKept = true;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.77.220", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    await service.route({});
    await service.push([[`${address.address}:${address.port}`]]);
    expect(await service.spread(20)).toEqual({ ok: 20 });
    expect(closed).toBeGreaterThan(0);
    asked.splice(0);
    for (let count = 0; count < 10; count += 1) {
      await world().ask("kept", "/", { method: "POST", headers: { "content-length": "0" } });
    }
    expect(asked).toEqual(Array.from({ length: 10 }, () => "POST"));
    server.close();
  });

  it("answers with an endpoint's own 503, and asks no other", async () => {
    const service = new Service("own-errors");
    const busy = await world().proxy.backend("busy", (exchange) =>
      exchange.respond(503).end(Buffer.from("busy")),
    );
    const [fine] = await backends(["fine"]);
    await service.route({});
    await service.push([[busy.peer], [fine?.peer ?? ""]]);
    expect(await world().ask("own-errors")).toMatchObject({ status: 503, body: "busy" });
    expect(await service.counters(busy.peer)).toMatchObject({ failures: 0, suspect: false });
  });

  it("learns of a dead endpoint once for all workers", async () => {
    const service = new Service("suspects");
    const [fine] = await backends(["fine"]);
    await service.route({});
    await service.push([[closedPort, fine?.peer ?? ""]]);
    expect(await service.spread(60)).toEqual({ fine: 60 });
    expect(await service.counters(closedPort)).toMatchObject({ requests: 1, failures: 1 });
  });

  it("tries an endpoint that is back with the next request, while its old connections break", async () => {
    const service = new Service("back");
    const place = "127.0.77.222";
    const port = await freePort(world().proxy.environment, place);
    const [fine] = await backends(["fine"]);
    await service.route({});
    await service.push([[`${place}:${port}`], [fine?.peer ?? ""]]);
    expect(await service.spread(1)).toEqual({ fine: 1 });
    expect(await service.counters(`${place}:${port}`)).toMatchObject({ suspect: true });
    const brokenConnections = 3;
    let connections = 0;
    // Each of the first breaks with its request, as those do that a restarted machine does not know.
    const server = createServer((socket) => {
      connections += 1;
      const isBroken = connections <= brokenConnections;
      socket.on("error", () => undefined);
      socket.on("data", () => {
        if (isBroken) socket.resetAndDestroy();
        else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback");
      });
    });
    await new Promise<void>((resolve) => server.listen(port, place, resolve));
    await world().answered([service.slotOf(`${place}:${port}`)]);
    expect(await service.spread(brokenConnections + 5)).toEqual({ fine: 3, back: 5 });
    server.close();
  });

  // The last test of the file: afterwards another pusher controls this nginx.
  it("marks who did not answer, though another Lockstep has taken charge meanwhile", async () => {
    const [fine] = await backends(["fine"]);
    const place = "127.0.77.221";
    const hole = await openBlackHole(place, await freePort(world().proxy.environment, place));
    const service = new Service("takeover");
    const silent = `${hole.address}:${hole.port}`;
    const [address, port] = (fine?.peer ?? "").split(":");
    // Time for the other to take charge.
    await service.route({ timeouts: { connectMs: 3_000 } });
    await service.push([[silent], [fine?.peer ?? ""]]);
    const asked = world().ask("takeover");
    const control = world().proxy.control();
    const { bootId } = await control.state();
    const next = { bootId, owner: "next", epoch: 2 };
    const generation = await control.beginLoad(next);
    const entry = {
      tiers: [1, 1],
      addresses: [hole.address, address],
      ports: [hole.port, Number(port)],
      slots: [7, service.slotOf(silent)],
      names: ["c1/d/silent", "c1/d/another"],
    };
    const hosts = { takeover: [rule("/", "takeover")] };
    const part = { services: { takeover: entry }, hosts };
    await control.loadPart(next, generation, JSON.stringify(part));
    await control.commitLoad(next, generation);
    expect(await asked).toMatchObject({ status: 200, body: "fine" });
    const { suspects } = await control.suspects(undefined);
    expect(suspects.map(({ slot }) => slot)).toEqual([7]);
    await hole.close();
  });
});

type Counts = Readonly<Record<string, number>>;
