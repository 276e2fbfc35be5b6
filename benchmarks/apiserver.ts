// The lab's API server over loopback HTTPS, in a process of its own, beside a bare server that
// parses, answers and forwards the same bytes without any logic of Kubernetes, and then, in memory
// and on etcd, beside a real kube-apiserver. Those compared take turns, so that all see the same
// machine.
import { measureBeside } from "./apiserver-beside.ts";
import { measureCreates } from "./apiserver-creates.ts";
import { measureFanOut } from "./apiserver-fan-out.ts";
import { measureLists } from "./apiserver-lists.ts";
import { ServerProcess } from "./apiserver-process.ts";
import type { Benchmark, Figures } from "./benchmark.ts";

export const apiserverBenchmark: Benchmark = {
  description:
    "creates, lists and watch fan-out of the lab's API server, beside a bare server;\n" +
    "              also on etcd (etcd-server installed) and beside a real kube-apiserver\n" +
    "              (built by npm run test:real -- --build-only, or in LOCKSTEP_REAL_BIN)",
  async run(progress) {
    const servers: ServerProcess[] = [];
    const start = async (sort: "lab" | "bare") => {
      const server = await ServerProcess.start(sort);
      servers.push(server);
      return server;
    };
    let figures: Figures = {};
    try {
      const pair = { lab: await start("lab"), bare: await start("bare") };
      figures = {
        ...(await measureCreates(pair, progress)),
        ...(await measureLists(pair.lab, progress)),
        ...(await measureFanOut(pair, progress)),
      };
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
    return { ...figures, ...(await measureBeside(progress)) };
  },
};
