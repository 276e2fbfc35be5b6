// One nginx has one Lockstep: a second start on the same prefix is refused while the first lives,
// and replaces it only when asked to and with routes of its own. Requests are answered after the
// kill of any process.
import { webcrypto } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubeconfig } from "../src/lab/kubeconfig.ts";
import { startLab } from "../src/lab/lab.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf, withoutNginx } from "./proxy-world.ts";
import { ShopsWorld } from "./shops-world.ts";

const takeOver = ["--take-over"];

describe.skipIf(withoutNginx !== false)("a second lockstep ingress on one prefix", () => {
  let world: ShopsWorld;
  let first: IngressProcess;
  let statusPort: string[];
  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: 1, replicas: 1 });
    // As people run it: both have the same port for questions.
    statusPort = ["--status-port", String(await world.freePort())];
    first = await IngressProcess.start(world, "first", statusPort);
  });
  afterAll(() => world?.stop());

  /** The output of a failed start, without its log lines. */
  const refused = async (args: readonly string[], config?: string): Promise<string> => {
    const second = first.beside("second", args, config);
    await second.run();
    expect(await second.exited()).toBe(2);
    const said = second.said.split("\n").filter((line) => !line.startsWith("{"));
    return said.join("\n").replaceAll(first.prefix, "PREFIX");
  };

  /** The status of a request, of each of several in turn. */
  const statuses = async (count = 5): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      const { status, body } = await world.environment.network.request({
        method: "GET",
        url: `http://${first.address}/`,
        headers: { host: "shop-1.example" },
      });
      await textOf(body);
      found.push(status);
    }
    return found;
  };

  const served = [200, 200, 200, 200, 200];

  /** The same nginx, with the same Lockstep, serves as before. */
  const whileUnchanged = async (act: () => Promise<void>): Promise<void> => {
    const before = await first.nginx();
    await act();
    const { bootId, owner, generation } = (await first.nginx()) ?? {};
    expect({ bootId, owner, generation }).toEqual({
      bootId: before?.bootId,
      owner: before?.owner,
      generation: before?.generation,
    });
    expect(await statuses()).toEqual(served);
    expect(await first.ask("/readyz")).toMatch(/^ok/);
  };

  it("is refused while the first lives, and shown how to replace it", () =>
    whileUnchanged(async () => {
      const said = await refused(statusPort);
      expect(said.replace(/since \S+Z/, "since THEN")).toBe(
        `lockstep: pid ${first.pid} serves class lockstep since THEN with PREFIX; ` +
          "use --take-over to replace it, or another --prefix and other ports to run both\n",
      );
    }));

  it("of another class is refused even with --take-over", () =>
    whileUnchanged(async () => {
      const context = world.access.name;
      const routes = (name: string) =>
        `class ${name}, contexts ${context}, access context ${context}`;
      expect(await refused([...takeOver, "--class", "other"])).toBe(
        `lockstep: the state saved in PREFIX is for ${routes("lockstep")}; ` +
          `this start is for ${routes("other")}. Give another --prefix, ` +
          "or --replace-state to replace the saved routes\n",
      );
    }));

  it("whose contexts give nothing takes nothing over", () =>
    whileUnchanged(async () => {
      const { environment, folder } = world;
      const size = { clusters: 1, apiservers: 1, nodes: 1, host: "127.0.0.1", firstPort: 0 };
      const empty = await startLab({ environment, crypto: webcrypto, ...size, flags: {} });
      try {
        const [context] = empty.contexts;
        if (context === undefined) throw new Error("the lab has no context");
        const config = `${folder}/empty-kubeconfig`;
        const contexts = [{ ...context, name: world.access.name }];
        await environment.files.write(config, kubeconfig(contexts), { mode: 0o600 });
        expect(await refused(takeOver, config)).toBe(
          "lockstep: take-over failed: no Ingress of the class lockstep in " +
            `${world.access.name} has a route; pid ${first.pid} keeps serving\n`,
        );
      } finally {
        await empty.stop();
      }
    }));

  it("killed before it has routes has changed nothing", () =>
    whileUnchanged(async () => {
      const { environment, folder } = world;
      const config = `${folder}/silent-kubeconfig`;
      const silent = { name: world.access.name, server: "http://127.0.0.1:1", token: "none" };
      await environment.files.write(config, kubeconfig([silent]), { mode: 0o600 });
      const second = first.beside("second", takeOver, config);
      await second.run();
      await world.until("it waits for its routes", () => second.said.includes("hand over"));
      await second.kill();
      expect(environment.processes.isAlive(first.pid ?? 0)).toBe(true);
    }));

  it("killed after the hand-over, before it has loaded its routes, leaves nginx serving", async () => {
    const before = await first.nginx();
    const second = first.beside("second", [...statusPort, ...takeOver]);
    await second.run();
    expect(await first.exited()).toBe(0);
    await second.kill();
    expect((await second.nginx())?.bootId).toBe(before?.bootId);
    expect(await statuses()).toEqual(served);
    await first.start();
    expect((await first.nginx())?.bootId).toBe(before?.bootId);
    expect(await statuses()).toEqual(served);
  });

  it("replaces the first with --take-over, which ends and says what has replaced it", async () => {
    const before = await first.nginx();
    const { pid: firstPid } = first;
    const second = first.beside("second", [...statusPort, ...takeOver]);
    const during: number[] = [];
    let isReplaced = false;
    const asking = (async () => {
      while (!isReplaced) during.push(...(await statuses(1)));
    })();
    await second.start();
    expect(await first.exited()).toBe(0);
    isReplaced = true;
    await asking;
    expect(during.filter((status) => status !== 200)).toEqual([]);
    expect(first.said).toContain(
      `pid ${second.pid} (class lockstep) has taken over. This Lockstep has stopped; nginx continues.`,
    );
    expect(second.said).toContain(`"pid":${firstPid}`);
    expect((await second.nginx())?.bootId).toBe(before?.bootId);
    expect(await statuses()).toEqual(served);
    // The new one is the owner: the first is refused now.
    expect(await refused([])).toContain(`pid ${second.pid} serves class lockstep`);
    await second.kill();
    expect(await statuses()).toEqual(served);
  });

  it("after a crash of the owner, of another class is refused, and of two at once one wins", async () => {
    const before = await first.nginx();
    expect(await refused(["--class", "other"])).toContain("--replace-state");
    const starts = ["one", "two", "three"].map((name) => first.beside(name, []));
    const children = await Promise.all(starts.map((start) => start.run()));
    const { processes } = world.environment;
    const alive = () => children.filter(({ pid }) => processes.isAlive(pid));
    await world.until("all but one have ended", () => alive().length <= 1);
    const winner = starts.find(({ pid }) => pid === alive()[0]?.pid);
    await world.until("the one serves", async () => {
      return (await winner?.ask("/readyz"))?.startsWith("ok") ?? false;
    });
    expect((await first.nginx())?.bootId).toBe(before?.bootId);
    expect(await statuses()).toEqual(served);
    for (const loser of starts.filter((start) => start !== winner)) {
      expect(await loser.exited()).toBe(2);
      expect(loser.said).toMatch(/(another process|pid \d+) serves/);
    }
    expect(await winner?.terminate()).toBe(0);
  });

  it("with --replace-state serves another class in the same place", async () => {
    await first.start();
    const other = first.beside("other", ["--class", "other", ...takeOver, "--replace-state"]);
    await other.run();
    // The class has no Ingress, so even this leaves the first in charge.
    expect(await other.exited()).toBe(2);
    expect(other.said).toContain("no Ingress of the class other");
    expect(await first.terminate()).toBe(0);
    const after = first.beside("after", ["--class", "other", "--replace-state"]);
    await after.start();
    expect(await statuses()).toEqual([404, 404, 404, 404, 404]);
    expect(await after.terminate()).toBe(0);
  });
});
