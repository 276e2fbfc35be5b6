import { expect, it } from "vitest";
import type { Signal } from "../../environment/processes.ts";
import { simulate } from "../../simulation/simulation.ts";
import { NginxLogs } from "./nginx-logs.ts";

it("keeps the access log short where its lines are printed, and no other", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { files, log } = simulation.host("gateway");
    const options = { files, log, processes: { kill: () => undefined }, prefix: "/prefix" };
    await files.makeDirectory("/prefix/logs");
    for (const accessLog of ["file", "stdout"] as const) {
      for (const name of ["access.log", "error.log"]) {
        await files.write(`/prefix/logs/${name}`, Buffer.alloc(8 * 1024 * 1024 + 1));
      }
      await new NginxLogs({ ...options, accessLog }).limit(7);
      const aside = accessLog === "stdout" ? ["access.log.1"] : ["access.log"];
      expect(await files.list("/prefix/logs")).toEqual([...aside, "error.log"]);
    }
  }));

it("puts a log aside when it is too large, over the one before, and asks nginx to open it again", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { files, log } = simulation.host("gateway");
    const signals: string[] = [];
    const kill = (pid: number, signal: Signal) => void signals.push(`${signal} to ${pid}`);
    const logs = new NginxLogs({
      files,
      log,
      processes: { kill },
      prefix: "/prefix",
      logMaxBytes: 10,
    });
    await files.makeDirectory("/prefix/logs");
    await files.write("/prefix/logs/error.log", "ten bytes.");
    await logs.limit(7);
    await files.write("/prefix/logs/access.log", "eleven byte");
    await files.write("/prefix/logs/access.log.1", "older");
    await logs.limit(7);
    await logs.limit(7);
    expect(signals).toEqual(["SIGUSR1 to 7"]);
    expect(await files.list("/prefix/logs")).toEqual(["access.log.1", "error.log"]);
    const aside = await files.read("/prefix/logs/access.log.1");
    expect(Buffer.from(aside ?? []).toString()).toBe("eleven byte");
  }));
