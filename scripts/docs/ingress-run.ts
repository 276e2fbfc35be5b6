// The lab of docs/ingress.md in virtual time: a cluster whose endpoint controller publishes half a minute
// late, a shop that is restarted, and `lockstep ingress --shadow` beside it, which needs no nginx and
// decides as an ingress that serves.

// The kubeconfig reader loads this at its first use, which virtual time cannot wait for.
import "@kubernetes/client-node";
import { runProgram } from "../../src/cli/program.ts";
import type { Environment } from "../../src/environment/environment.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { type Cluster, startCluster } from "../../src/lab/cluster.ts";
import { kubeconfig } from "../../src/lab/kubeconfig.ts";
import { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { createShop, createShopIngress, releaseShop } from "../../src/lab/shop.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { DocsTerminal, textOf } from "./docs-terminal.ts";

export interface IngressRun {
  /** The output of `lockstep ingress endpoints shop` some seconds after the restart. */
  readonly endpoints: string;
  /** The output of the shadow at its end, without the longest cases. */
  readonly shadow: string;
}

const seed = 1;

/** As in the document: `--controller-flag endpointslice-updates-batch-period=30s`. */
const publishAfterMs = 30_000;

/** Until the shop is published and the shadow has seen it. */
const quietMs = 2 * publishAfterMs;

/** Every pod is replaced by then, and none of the new ones is published. */
const askAfterMs = 8_000;
const endAfterMs = 12_000;

export function ingressRun(): Promise<IngressRun> {
  return simulate({ seed }, async (simulation) => {
    const cluster = await startLabCluster(simulation);
    const here = simulation.host("here");
    const client = new HttpKubeClient({ ...here, cluster: cluster.access, userAgent: "kubectl" });
    await createShop(client, { replicas: 3 });
    await createShopIngress(client);
    await writeKubeconfig(here, cluster);
    await simulation.sleep(quietMs);
    const stop = new AbortController();
    const line = ["--shadow", "--shadow-probe", "--class", "lockstep", "--kubeconfig", "/lab.yaml"];
    const shadow = run(here, ["ingress", ...line], stop.signal);
    await simulation.sleep(endAfterMs - askAfterMs);
    await releaseShop(client, "second");
    await simulation.sleep(askAfterMs);
    const endpoints = await run(here, ["ingress", "endpoints", "shop"], stop.signal);
    await simulation.sleep(endAfterMs - askAfterMs);
    stop.abort(new Error("Ctrl-C was pressed"));
    const [summary = ""] = (await shadow).split("\n  longest cases:");
    await cluster.stop();
    return { endpoints, shadow: summary };
  });
}

function startLabCluster(simulation: Simulation): Promise<Cluster> {
  return startCluster({
    name: "lab-1",
    environmentOf: (part) => simulation.host(part),
    hostOf: (part) => part,
    ports: [6443],
    nodes: 2,
    podNetwork: "10.7",
    ledger: new Ledger(simulation.host("here")),
    flags: { "endpointslice-updates-batch-period": publishAfterMs },
  });
}

async function writeKubeconfig({ files }: Environment, { access }: Cluster): Promise<void> {
  const { name, server } = access;
  const { authorization = "" } = await access.credentials();
  const token = authorization.replace(/^Bearer /, "");
  await files.write("/lab.yaml", kubeconfig([{ name, server, token }]));
}

async function run(
  environment: Environment,
  args: readonly string[],
  stop: AbortSignal,
): Promise<string> {
  const terminal = new DocsTerminal({ columns: 80, showsErrors: false });
  await runProgram({ environment, terminal, stop }, "", args);
  return textOf(terminal.lines());
}
