import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { SupervisedProcess } from "./supervised-process.ts";

test("a program that is late is waited for, and its last words say why", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("here");
    simulation.registerProgram("slow", async ({ environment, writeError }) => {
      writeError("waiting for the storage\n");
      await environment.timers.sleep(60_000);
      return 0;
    });
    const news: string[] = [];
    const supervised = await SupervisedProcess.start({
      ...host,
      name: "lab-1",
      command: ["slow"],
      isReady: () => Promise.resolve(simulation.now() >= 20_000),
      onNews: (line) => news.push(line),
    });
    expect(news).toEqual([
      "lab-1 does not serve yet; it is waited for. It said:\nwaiting for the storage",
    ]);
    await supervised.stop();
  }));
