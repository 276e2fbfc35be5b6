// `lockstep watch` beside the incident `resync-storm` in its small form, in virtual time, for
// docs/watch.md. Stock replicas report their routes and write access logs, as a real ingress-nginx
// does; the same seed gives the same screen, to the last digit.
import { PeerAddresses } from "../../src/apiserver/audit/peer-addresses.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { Files } from "../../src/environment/files.ts";
import { replicaNames, stockBackend } from "../../src/lab/comparison/side.ts";
import { statusPort } from "../../src/lab/comparison/stage-side.ts";
import { playResyncStorm } from "../../src/lab/incidents/resync-storm/play.ts";
import { shortSettings } from "../../src/lab/incidents/resync-storm/settings.ts";
import type { ObservablePlay, Stage } from "../../src/lab/incidents/stage.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import { kubeconfig } from "../../src/lab/kubeconfig.ts";
import { ProxyAccess } from "../../src/lab/saved/proxy-access.ts";
import { DocsTerminal, type Line, textOf } from "./docs-terminal.ts";

// The kubeconfig reader loads this at its first use, which virtual time cannot wait for.
import "@kubernetes/client-node";

/** With it every change of the release in the storm is still awaited when the picture is taken. */
const seed = 4;

/** So wide that the screen has the path of each change. */
const columns = 120;

/** From the beginning of the release in the storm on: its last pod has just been replaced. */
const lookAfterMs = 20_000;

/** The line that the document explains; if the screen lacks it, another seed is needed. */
const expected = "16 changes · 8 in flight";

/** The machine on which the command runs. */
const machine = "reader";

/** Those who send requests to the proxies are none of the cluster's machines. */
const clientNetwork = "203.0";

/** The picture is taken once this has begun. */
const awaitedStep = "the first release in the storm";

/** The play was only the occasion; when the picture is taken it is over. */
const enough = new Error("the picture is taken");

export interface WatchRun {
  readonly screen: readonly Line[];
  /** The output of the same command into a pipe. */
  readonly piped: string;
}

export async function watchRun(): Promise<WatchRun> {
  const ending = new AbortController();
  const screen = new DocsTerminal({ columns, showsErrors: true });
  const pipe = new DocsTerminal({ columns, showsErrors: false, isPipe: true });
  const stages = new VirtualStages({ seed, signal: ending.signal });
  const atLook: { run?: WatchRun } = {};
  const take = (): void => {
    atLook.run = { screen: screen.lines(), piped: textOf(pipe.lines()) };
    ending.abort(enough);
  };
  const terminals = [screen, pipe];
  try {
    await playResyncStorm((play) => stages.open((stage) => play(watched(stage, terminals, take))), {
      fix: false,
      settings: () => shortSettings,
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
  const { run } = atLook;
  if (run === undefined) throw new Error(`the play had no step "${awaitedStep}"`);
  const text = textOf(run.screen);
  if (!text.includes(expected)) throw new Error(`this screen does not show ${expected}:\n${text}`);
  return run;
}

function watched(stage: Stage, terminals: readonly DocsTerminal[], take: () => void): Stage {
  const own = stage.environmentOf(machine);
  const peers = new PeerAddresses({ network: clientNetwork });
  const logged = new Map(
    replicaNames("stock").map((name) => {
      const environment = stage.environmentOf(name);
      return [name, withAccessLog({ environment, files: own.files, name, peers })];
    }),
  );
  return {
    ...stage,
    environmentOf: (name) => logged.get(name) ?? stage.environmentOf(name),
    onObservable: (invitation) => {
      for (const terminal of terminals) void watch(own, terminal, invitation);
    },
    say: (step) => {
      stage.say(step);
      if (step === awaitedStep) own.timers.after(lookAfterMs, take);
    },
  };
}

function logOf(replica: string): string {
  return `/${replica}.log`;
}

interface LoggedProxy {
  readonly environment: Environment;
  /** Of the machine on which the command reads the log. */
  readonly files: Files;
  readonly name: string;
  readonly peers: PeerAddresses;
}

function withAccessLog({ environment, files, name, peers }: LoggedProxy): Environment {
  const { network, clock } = environment;
  const form = "ingress-nginx";
  const write = (line: string): void => void files.append(logOf(name), `${line}\n`);
  const access = new ProxyAccess({ clock, form, peers, name, upstreamName: stockBackend, write });
  const logging = access.through(network);
  return {
    ...environment,
    network: {
      request: (request) => logging.request(request),
      listen: (options, handler) =>
        (options.port === statusPort ? network : logging).listen(options, handler),
    },
  };
}

async function watch(
  environment: Environment,
  terminal: DocsTerminal,
  { access, proxies }: ObservablePlay,
): Promise<void> {
  const { files } = environment;
  const { name, server } = access;
  const { authorization = "" } = await access.credentials();
  const token = authorization.replace(/^Bearer /, "");
  await files.write("/kubeconfig", kubeconfig([{ name, server, token }]));
  const logs = replicaNames("stock").map(logOf);
  for (const log of logs) await files.append(log, "");
  const { signal: stop } = new AbortController();
  await runProgram({ environment, terminal, stop }, "", [
    "watch",
    "--utc",
    "--kubeconfig",
    "/kubeconfig",
    ...proxies.flatMap((address) => ["--proxy", `ingress-nginx=http://${address}`]),
    ...logs.flatMap((log) => ["--access-log", log]),
  ]);
}
