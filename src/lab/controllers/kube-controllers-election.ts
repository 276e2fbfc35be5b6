// The election among controller managers: the holder of the lock in kube-system works. The kind of lock
// is that of `--leader-elect-resource-lock`. A process that loses the lock ends, as the real one does.
import { Gauge, type Registry } from "prom-client";
import type { Klog } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { LockReference } from "../../kube/leader/lease-record.ts";
import { ClientGoElection } from "../leader/client-go-election.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";
import type { ControllerFlags, ResourceLock } from "./flags.ts";

export interface ControllersElectionOptions
  extends Pick<Environment, "clock" | "timers" | "random"> {
  readonly client: KubeClient;
  readonly profile: ProfileName;
  readonly flags: ControllerFlags;
  readonly klog: Klog;
  readonly registry: Registry;
  /** The machine's name; most versions add something of their own to it. */
  readonly hostName: string;
}

/** The lock, and the label of the metric. */
const place = { namespace: "kube-system", name: "kube-controller-manager" };
const description = `${place.namespace}/${place.name}`;

const file = "leaderelection.go";

const kinds: Readonly<Record<ResourceLock, LockReference["kind"]>> = {
  endpoints: "Endpoints",
  endpointsleases: "Endpoints",
  leases: "Lease",
};

/** Competes, works while it leads, and resolves when the lock is lost or the signal aborts. */
export async function leadAlone(
  options: ControllersElectionOptions,
  work: (leading: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { flags, klog, hostName, random } = options;
  const form = profileNamed(options.profile).election;
  const resourceLock = flags["leader-elect-resource-lock"];
  const setLeading = form.hasGauge ? leaderGauge(options.registry) : () => undefined;
  /** Never rejects: what the work failed with is kept until the election is over. */
  let working = Promise.resolve();
  const failures: unknown[] = [];
  const election = new ClientGoElection({
    ...options,
    lock: { kind: kinds[resourceLock], ...place },
    ...(resourceLock === "endpointsleases" && { mirror: { kind: "Lease", ...place } }),
    identity: form.identity === "host" ? hostName : `${hostName}_${random.uuid()}`,
    waitsFor: form.waitsFor,
    renewsUnread: form.renewsUnread,
    leaseDurationMs: flags["leader-elect-lease-duration"],
    renewDeadlineMs: flags["leader-elect-renew-deadline"],
    retryPeriodMs: flags["leader-elect-retry-period"],
    onStartedLeading: (leading) => {
      const { line, text } = form.acquired(description);
      klog.write("I", `${file}:${line}`, text);
      setLeading(1);
      working = work(leading).catch((error: unknown) => void failures.push(error));
    },
    onStoppedLeading: () => {
      setLeading(0);
      if (!signal.aborted) noteLost(options);
    },
    onMissed: (missed) => {
      if (missed.kind === "held") return;
      const failure = form.failed(missed.at, description, missed.text);
      if (flags.v < failure.verbosity) return;
      klog.write(failure.severity, `${file}:${failure.line}`, failure.text);
    },
  });
  const { line, text } = form.attempting(description);
  klog.write("I", `${file}:${line}`, text);
  await election.run(signal);
  await working;
  if (failures.length > 0) throw failures[0];
}

function noteLost({ klog, profile }: ControllersElectionOptions): void {
  const { notRenewed, lost } = profileNamed(profile).election;
  const { line, text } = notRenewed(description);
  klog.write("I", `${file}:${line}`, text);
  klog.write(lost.severity, lost.source, lost.text);
}

function leaderGauge(registry: Registry): (value: 0 | 1) => void {
  const gauge = new Gauge({
    name: "leader_election_master_status",
    help:
      "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates " +
      "backup, 1 indicates master. 'name' is the string used to identify the lease. Please make " +
      "sure to group by name.",
    labelNames: ["name"],
    registers: [registry],
  });
  return (value) => gauge.set({ name: place.name }, value);
}
