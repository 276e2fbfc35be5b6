// The lab's API server over loopback HTTPS, in a process of its own, beside a bare server that
// parses, answers and forwards the same bytes without any logic of Kubernetes. The two take turns,
// so that both see the same machine.
import { measureCreates } from "./apiserver-creates.ts";
import { measureFanOut } from "./apiserver-fan-out.ts";
import { measureLists } from "./apiserver-lists.ts";
import { ServerProcess } from "./apiserver-process.ts";
import type { Benchmark } from "./benchmark.ts";

export const apiserverBenchmark: Benchmark = {
  description: "creates, lists and watch fan-out of the lab's API server, beside a bare server",
  async run(progress) {
    const servers: ServerProcess[] = [];
    const start = async (sort: "lab" | "bare") => {
      const server = await ServerProcess.start(sort);
      servers.push(server);
      return server;
    };
    try {
      const pair = { lab: await start("lab"), bare: await start("bare") };
      return {
        ...(await measureCreates(pair, progress)),
        ...(await measureLists(pair.lab, progress)),
        ...(await measureFanOut(pair, progress)),
      };
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  },
};
