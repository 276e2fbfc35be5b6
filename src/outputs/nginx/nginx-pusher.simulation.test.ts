import { expect } from "vitest";
import { decide, nginxWorld, refusal } from "../../../tests/nginx/nginx-world.ts";
import { randomInt } from "../../environment/random.ts";
import { forEachSeed } from "../../simulation/seeds.ts";

forEachSeed(
  "after quiet nginx has the last decision, whatever was killed or broken meanwhile",
  { seeds: 30, regressions: [82] },
  (seed) =>
    nginxWorld(
      async (world) => {
        const { simulation } = world;
        const { random } = simulation;
        await simulation
          .host("pod")
          .network.listen({ host: "pod", port: 80 }, (exchange) =>
            exchange.respond(200).end(Buffer.from("pod")),
          );
        const supervisor = world.supervisor();
        await supervisor.start();
        const pusher = world.pusher();
        pusher.start();
        const names = ["a", "b", "c", "d"];
        const wanted = new Map<string, boolean>();
        let version = 0;
        for (let step = 0; step < 40; step += 1) {
          version += 1;
          wanted.set(names[randomInt(random, names.length)] ?? "a", random.next() < 0.5);
          const present = names.filter((name) => wanted.has(name));
          decide(
            pusher,
            {
              hosts: Object.fromEntries(present.map((name) => [name, name])),
              services: Object.fromEntries(
                present.map((name) => [name, wanted.get(name) ? ["pod:80"] : []]),
              ),
            },
            version,
          );
          const pids = [
            supervisor.serving?.masterPid ?? 0,
            ...(supervisor.serving?.workerPids ?? []),
          ];
          const chance = random.next();
          if (chance < 0.1) for (const pid of pids) world.host.processes.kill(pid, "SIGKILL");
          else if (chance < 0.15) world.host.processes.kill(pids[0] ?? 0, "SIGKILL");
          else if (chance < 0.25) world.script(/changes|loads/, (exchange) => exchange.abort());
          else if (chance < 0.3) world.script(/changes|loads/, refusal(409, "LOAD"));
          else if (chance < 0.33) world.script(/changes|loads/, () => undefined);
          await simulation.sleep(random.next() * 400);
        }
        await simulation.sleep(120_000);
        const answers = await Promise.all(names.map((name) => world.ask(name)));
        const expected = names.map((name) => {
          const endpoint = wanted.get(name);
          if (endpoint === undefined) return "404";
          return endpoint ? "200 pod" : "503";
        });
        expect(answers).toEqual(expected);
        const last = new Map(
          world.routed
            .map((line) => line.split(" ")[0]?.split("@") ?? [])
            .map(([service, routed]) => [service, Number(routed)]),
        );
        expect([...last.values()]).toEqual([...last].map(() => version));
        await pusher.stop();
        await supervisor.stopNginx();
        expect(world.host.processes.isAlive(supervisor.serving?.masterPid ?? 0)).toBe(false);
      },
      { seed },
    ),
);
