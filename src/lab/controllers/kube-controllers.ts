// kube-controller-manager: all controllers of a cluster in one process, each with a client of its
// own, over one set of watches. A run reads its flags once; to change them, stop it and start
// another, which syncs everything again as the real process does.
import { setMaxListeners } from "node:events";
import { Gauge, Registry } from "prom-client";
import { exposition } from "../../components/exposition.ts";
import { type Klog, structured } from "../../components/klog.ts";
import type { Clock } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Listener, Network, ServerExchange } from "../../environment/network.ts";
import { jitter } from "../../environment/random.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type ProfileName, profileNamed, userAgentOf } from "../versions/profiles.ts";
import { publishComponentPod } from "./component-pod.ts";
import type { ControllerOptions } from "./controller.ts";
import { ControllerClients } from "./controller-clients.ts";
import { type ControllerFlags, controllerFlags, flagArguments } from "./flags.ts";
import { Informers } from "./informers.ts";
import { ThrottlingLog } from "./klog/throttling-lines.ts";
import { leadAlone } from "./kube-controllers-election.ts";
import {
  type AccountOptions,
  type ControllerName,
  startControllers,
} from "./started-controllers.ts";

interface ControllerManagerOptions {
  readonly environment: Pick<Environment, "clock" | "timers" | "random" | "network" | "log">;
  /** The cluster's name, for our own logs. */
  readonly cluster: string;
  /** `https://host:port` of the API server. */
  readonly server: string;
  /** A client of that server without a rate limit, under this user agent. */
  readonly clientFor: (userAgent: string) => KubeClient;
  readonly profile: ProfileName;
  /** The rest has the defaults of the profile. */
  readonly flags?: Partial<ControllerFlags>;
  /** As `--controllers` names them; all of the version unless given. */
  readonly controllers?: readonly ControllerName[];
  /** Given where access is controlled: who looks after accounts and roles then. */
  readonly accounts?: AccountOptions | undefined;
  /** The resync period is multiplied by this, from 1 to 2; each run draws it unless given. */
  readonly resyncFactor?: number | undefined;
  /** Where the process logs; it outlives the run. */
  readonly klog: Klog;
  /** A new one for each run: a process that starts again counts from zero. */
  readonly metrics?: Registry;
  /** Where /metrics is served; nowhere when absent. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Called when it listens, with the port that was free. */
  readonly onListening?: (listener: Listener) => void;
  /** The node that the process claims to run on. */
  readonly nodeName?: string;
  /** With what that kubelet writes the pod; as the process itself unless given. */
  readonly kubeletClient?: KubeClient;
  /** How often the process has ended by itself. */
  readonly restartCount?: number;
}

/** Its pod is `kube-controller-manager-<node>` in kube-system. */
export const controllerManager = "kube-controller-manager";

/** A machine of its own, which no kubelet of the lab looks after. */
export const controlPlaneNode = "control-plane";

/** Works until the signal aborts; then ends every watch and request of it before it resolves. */
export async function runControllerManager(
  options: ControllerManagerOptions,
  signal: AbortSignal,
): Promise<void> {
  const flags = controllerFlags(profileNamed(options.profile), options.flags);
  const registry = options.metrics ?? new Registry();
  const stop = new AbortController();
  // Every controller and every watch it waits for listens to it; that is not a leak to warn of.
  setMaxListeners(0, stop.signal);
  const forward = () => stop.abort(signal.reason);
  signal.addEventListener("abort", forward, { once: true });
  if (signal.aborted) forward();
  let listener: Listener | undefined;
  try {
    noteStart(options);
    countStart(registry, options.environment.clock);
    if (options.listen !== undefined) {
      const { network } = options.environment;
      listener = await listenForMetrics({ network, ...options.listen, registry });
      options.onListening?.(listener);
    }
    await runLeader(options, flags, registry, stop, listener);
  } finally {
    signal.removeEventListener("abort", forward);
    await listener?.close();
  }
}

/** The pod is there from the start; the work is done by the one process that leads. */
async function runLeader(
  options: ControllerManagerOptions,
  flags: ControllerFlags,
  registry: Registry,
  stop: AbortController,
  listening: Listener | undefined,
): Promise<void> {
  const { environment, klog, profile, nodeName = controlPlaneNode } = options;
  const published = publishPod(options, flags, listening, stop.signal);
  const clients = controllerClients(options, flags, registry);
  if (flags["leader-elect"]) {
    const client = clients.for("leader-election");
    const election = { ...environment, client, profile, flags, klog, registry, hostName: nodeName };
    const work = async (leading: AbortSignal): Promise<void> => {
      const working = new AbortController();
      setMaxListeners(0, working.signal);
      leading.addEventListener("abort", () => working.abort(leading.reason), { once: true });
      if (leading.aborted) working.abort(leading.reason);
      try {
        await runAll(options, flags, registry, working, clients);
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    };
    await leadAlone(election, work, stop.signal);
    stop.abort(new Error("the process has ended"));
  } else {
    await runAll(options, flags, registry, stop, clients);
  }
  await published;
}

/** Ends when all controllers have ended; the first that fails ends the others. */
async function runAll(
  options: ControllerManagerOptions,
  flags: ControllerFlags,
  registry: Registry,
  stop: AbortController,
  clients: ControllerClients,
): Promise<void> {
  const { environment, cluster, klog } = options;
  const { random } = environment;
  const profile = profileNamed(options.profile);
  // Drawn once for all watches of the process, and the same until it starts again.
  const minResyncMs = flags["min-resync-period"];
  const drawnMs = jitter(random, minResyncMs, 1);
  const { resyncFactor } = options;
  const resyncMs = resyncFactor === undefined ? drawnMs : minResyncMs * resyncFactor;
  const client = clients.for("shared-informers");
  const informers = new Informers({ ...environment, client, cluster, resyncMs });
  const queueMetrics = profileNamed(options.profile).formats.queues;
  const shared = { ...environment, informers, flags, profile, klog, registry, queueMetrics };
  const optionsFor = (name: string, factor = { qps: 1, burst: 1 }): ControllerOptions => ({
    ...shared,
    client: clients.for(name, {
      qps: flags["kube-api-qps"] * factor.qps,
      burst: flags["kube-api-burst"] * factor.burst,
    }),
  });
  const { signal } = stop;
  const running = startControllers(
    { profile, cluster, optionsFor, accounts: options.accounts, only: options.controllers },
    signal,
  );
  noteControllers(options);
  informers.start();
  const failures: unknown[] = [];
  const ended = running.map((run) =>
    run.catch((error: unknown) => {
      // An error after the abort is caused by it.
      if (!signal.aborted) failures.push(error);
      stop.abort(error);
    }),
  );
  await Promise.all(ended);
  await informers.stop();
  if (failures.length > 0) throw new Error("a controller failed", { cause: failures[0] });
}

function publishPod(
  options: ControllerManagerOptions,
  flags: ControllerFlags,
  listening: Listener | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { environment, clientFor, nodeName = controlPlaneNode, restartCount = 0 } = options;
  const profile = profileNamed(options.profile);
  const { gitVersion } = profile;
  const client = options.kubeletClient ?? clientFor(userAgentOf("kubelet", profile));
  const command = [controllerManager, ...flagArguments(flags, profile)];
  const component = controllerManager;
  return publishComponentPod(
    { ...environment, client, component, nodeName, gitVersion, command, restartCount, listening },
    signal,
  );
}

function controllerClients(
  options: ControllerManagerOptions,
  flags: ControllerFlags,
  registry: Registry,
): ControllerClients {
  const { clock, timers } = options.environment;
  const { clientFor, server, klog } = options;
  const profile = profileNamed(options.profile);
  const { throttling } = profile;
  const throttlingLog = new ThrottlingLog({ clock, klog, lines: throttling, verbosity: flags.v });
  return new ControllerClients({
    clock,
    timers,
    clientFor,
    server,
    program: userAgentOf(controllerManager, profile),
    limit: { qps: flags["kube-api-qps"], burst: flags["kube-api-burst"] },
    onThrottled: throttlingLog.report,
    registry,
    metricsForm: profileNamed(options.profile).formats.clients,
  });
}

interface StartedControllers {
  readonly klog: Klog;
  readonly profile: ProfileName;
}

function noteStart({ klog, profile }: StartedControllers): void {
  const { gitVersion, logs } = profileNamed(profile);
  const { lines } = profileNamed(profile).formats;
  const text =
    logs === "sentences"
      ? `Version: ${gitVersion}`
      : structured("Starting", { version: gitVersion });
  klog.write("I", lines.managerVersion, text);
}

/** One line for each controller, when it leads. */
function noteControllers({ klog, profile }: StartedControllers): void {
  const { controllerStarted, controllers } = profileNamed(profile).formats.lines;
  const isStructured = profileNamed(profile).logs === "structured";
  for (const controller of controllers) {
    const text = isStructured
      ? structured("Started controller", { controller })
      : `Started ${JSON.stringify(controller)}`;
    klog.write("I", controllerStarted, text);
  }
}

function countStart(registry: Registry, clock: Clock): void {
  const started = new Gauge({
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    registers: [registry],
  });
  started.set(Math.floor(clock.wallMs() / 1000));
}

interface MetricsListenerOptions {
  readonly network: Network;
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
}

function listenForMetrics(options: MetricsListenerOptions): Promise<Listener> {
  const { network, host, port, registry } = options;
  return network.listen({ host, port }, (exchange) => answer(exchange, registry));
}

async function answer(exchange: ServerExchange, registry: Registry): Promise<void> {
  const { method, target } = exchange.request;
  const [path] = target.split("?", 1);
  const text = { "content-type": "text/plain; charset=utf-8" };
  if (method !== "GET") {
    exchange.respond(405, text).end(Buffer.from("method not allowed\n"));
  } else if (path === "/metrics") {
    const body = Buffer.from(await exposition(registry));
    exchange.respond(200, { "content-type": registry.contentType }).end(body);
  } else if (path === "/healthz") {
    exchange.respond(200, text).end(Buffer.from("ok"));
  } else {
    exchange.respond(404, text).end(Buffer.from("404 page not found\n"));
  }
}
