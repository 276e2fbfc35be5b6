// Routing by real nginx: the next request uses the pushed state, in every worker.
import { describe, expect, it } from "vitest";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

const closedPort = "127.0.77.250:9";

describe.skipIf(withoutNginx !== false)(
  `a proxy${withoutNginx ? ` (${withoutNginx})` : ""}`,
  () => {
    it("answers 503 before the first load, then routes by host and path, and 404 elsewhere", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor().start();
        expect((await world.ask("a.example")).status).toBe(503);
        const web = await world.backend("web");
        await world.pusher().push({
          hosts: {
            "a.example": "d/web:80",
            "*.wild.example": "d/web:80",
            "b.example": "d/none:80",
          },
          services: { "d/web:80": [web.peer], "d/none:80": [] },
        });
        expect(await world.ask("a.example")).toEqual({ status: 200, body: "web" });
        expect(await world.ask("A.EXAMPLE:8080")).toEqual({ status: 200, body: "web" });
        expect(await world.ask("x.wild.example")).toEqual({ status: 200, body: "web" });
        expect((await world.ask("b.example")).status).toBe(503);
        expect((await world.ask("c.example")).status).toBe(404);
      }));

    it("shows a push to the next request in every worker", () =>
      ProxyWorld.use(async (world) => {
        const { files } = world.environment;
        await world.supervisor({ workers: 2 }).start();
        const [one, two] = [await world.backend("one"), await world.backend("two")];
        const pusher = world.pusher();
        const decision = (peer: string) => ({ hosts: { h: "s" }, services: { s: [peer] } });
        for (let round = 0; round < 10; round += 1) {
          await pusher.push(decision(one.peer));
          expect(await world.askMany("h", 40)).toEqual({ "200 one": 40 });
          await pusher.push(decision(two.peer));
          expect(await world.askMany("h", 40)).toEqual({ "200 two": 40 });
        }
        const workers = new Set<unknown>();
        await world.until(async () => {
          const log = Buffer.from((await files.read(`${world.prefix}/logs/access.log`)) ?? []);
          // A reader may see the beginning of what is just being written.
          const whole = log.subarray(0, log.lastIndexOf("\n") + 1);
          const lines = whole.toString("utf8").split("\n").slice(0, -1);
          for (const line of lines) workers.add((JSON.parse(line) as { worker: number }).worker);
          return lines.length === 800;
        });
        expect(workers.size).toBe(2);
      }));

    it("removes with a full load what the new state does not hold, and keeps the rest in service", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor().start();
        const web = await world.backend("web");
        const services = { s: [web.peer], t: [web.peer] };
        const first = world.pusher();
        await first.push({ hosts: { a: "s", b: "t" }, services });
        await first.stop();
        await world.pusher().push({ hosts: { a: "s" }, services: { s: [web.peer] } });
        expect(await world.ask("a")).toEqual({ status: 200, body: "web" });
        expect((await world.ask("b")).status).toBe(404);
        const { generation } = await world.control().state();
        expect(generation).toBe(2);
      }));

    it("takes one large load after another: what is over leaves no memory behind", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor().start();
        const control = world.control();
        const { bootId } = await control.state();
        const pusher = { bootId, owner: "large", epoch: 1 };
        const rules = Array.from({ length: 100 }, (_, index) => ({
          path: `/${"long".repeat(50)}${index}`,
          type: "Prefix",
          service: "s",
        }));
        const megabytesInAll = 90;
        const partsInLoad = 200;
        const partMegabytes = JSON.stringify(rules).length / 1e6;
        for (let sent = 0; sent < megabytesInAll; sent += partsInLoad * partMegabytes) {
          const generation = await control.beginLoad(pusher);
          for (let part = 0; part < partsInLoad; part += 1) {
            const body = JSON.stringify({ hosts: { [`host-${part}`]: rules } });
            await control.loadPart(pusher, generation, body);
          }
          await control.commitLoad(pusher, generation);
        }
        expect((await world.ask("host-0", `/${"long".repeat(50)}7`)).status).toBe(503);
      }));

    it("loses no request while endpoints come and go under load", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor().start();
        const backends = await Promise.all(["a", "b", "c"].map((name) => world.backend(name)));
        const peers = backends.map(({ peer }) => peer);
        const pusher = world.pusher();
        await pusher.push({ hosts: { h: "s" }, services: { s: peers } });
        let flipping = true;
        const counts: Record<string, number> = {};
        const clients = Array.from({ length: 8 }, async () => {
          while (flipping) {
            const { status } = await world.ask("h");
            counts[status] = (counts[status] ?? 0) + 1;
          }
        });
        for (let flip = 0; flip < 200; flip += 1) {
          const left = peers.filter((_, index) => index !== flip % peers.length);
          await pusher.push({ hosts: { h: "s" }, services: { s: left } });
        }
        flipping = false;
        await Promise.all(clients);
        expect(Object.keys(counts)).toEqual(["200"]);
        expect(pusher.loads).toBe(1);
      }));

    it("shares the requests evenly, and passes over a dead endpoint without losing one", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor({ workers: 1 }).start();
        const [one, two] = [await world.backend("one"), await world.backend("two")];
        const services = { s: [one.peer, closedPort, two.peer] };
        await world.pusher().push({ hosts: { h: "s" }, services });
        const answers: string[] = [];
        for (let count = 0; count < 6; count += 1) answers.push((await world.ask("h")).body);
        expect(answers).toEqual(["one", "two", "one", "two", "one", "two"]);
        const { counters } = await world.control().counters();
        const [first, dead, last] = counters.map(({ slot, failures, suspect }) => [
          slot,
          failures > 0,
          suspect,
        ]);
        expect([first, dead, last]).toEqual([
          [1, false, false],
          [2, true, true],
          [3, false, false],
        ]);
      }));

    it("tries a suspect again rather than refusing, and believes it once it answers", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor({ workers: 1 }).start();
        const gone = await world.backend("gone");
        await gone.close();
        const pusher = world.pusher();
        await pusher.push({ hosts: { h: "s" }, services: { s: [gone.peer] } });
        expect((await world.ask("h")).status).toBe(502);
        expect((await world.control().counters()).counters).toMatchObject([
          { failures: 1, suspect: true },
        ]);
        const [host = "", port = ""] = gone.peer.split(":");
        const back = await world.environment.network.listen(
          { host, port: Number(port) },
          (exchange) => exchange.respond(200).end(Buffer.from("back")),
        );
        expect(await world.ask("h")).toEqual({ status: 200, body: "back" });
        expect((await world.control().counters()).counters).toMatchObject([
          { failures: 1, suspect: false },
        ]);
        await back.close();
      }));

    it("repeats a GET that broke after it was sent, and never a POST", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor({ workers: 1 }).start();
        const breaking = await world.backend("breaking", (exchange) => exchange.abort());
        const fine = await world.backend("fine");
        const services = { s: [breaking.peer, `${fine.peer} draining`] };
        await world.pusher().push({ hosts: { h: "s" }, services });
        expect(await world.ask("h", "/get")).toEqual({ status: 200, body: "fine" });
        const post = await world.ask("h", "/post", { method: "POST", body: "once" });
        expect(post.status).toBe(502);
        expect(breaking.requests).toEqual(["GET /get", "POST /post once"]);
        expect(fine.requests).toEqual(["GET /get"]);
      }));

    it("sends a POST elsewhere when no connection was made", () =>
      ProxyWorld.use(async (world) => {
        await world.supervisor({ workers: 1 }).start();
        const fine = await world.backend("fine");
        const services = { s: [closedPort, `${fine.peer} draining`] };
        await world.pusher().push({ hosts: { h: "s" }, services });
        const post = await world.ask("h", "/post", { method: "POST", body: "once" });
        expect(post).toEqual({ status: 200, body: "fine" });
        expect(fine.requests).toEqual(["POST /post once"]);
      }));
  },
);
