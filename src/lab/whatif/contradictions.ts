// What in a question cannot be together, each with what would be right. Bounds of single values are
// checked where they are read.
import { controllerFlags } from "../controllers/flags.ts";
import { profileNamed, profileNames } from "../versions/profiles.ts";
import { shortDuration } from "./inputs.ts";
import { beatsPerSecond } from "./node-beats.ts";
import type { Question } from "./question.ts";

/** Sentences; empty when the question can be asked. */
export function contradictionsOf({ counts, settings }: Question): readonly string[] {
  const { version, graceMs, batchMs, heartbeat } = settings;
  const profile = profileNamed(version);
  const monitorMs = controllerFlags(profile)["node-monitor-period"];
  const found: string[] = [];
  if (graceMs <= monitorMs) {
    found.push(
      `A grace period of ${shortDuration(graceMs)} would be over before nodes are looked at: it ` +
        `must be above --node-monitor-period, ${shortDuration(monitorMs)}.`,
    );
  }
  if (batchMs > 0 && profile.flags.lacks.includes("endpoint-updates-batch-period")) {
    found.push(
      `Kubernetes ${version} has no --endpoint-updates-batch-period: a batch period needs ` +
        `${versionsWith("endpoint-updates-batch-period")}.`,
    );
  }
  if (heartbeat.by === "lease" && !profile.nodes.leases) {
    found.push(
      `Kubelets of ${version} know no Leases: say --heartbeat status:… or a version that has ` +
        `them (${profileNames.filter((name) => profileNamed(name).nodes.leases).join(", ")}).`,
    );
  }
  const beats = beatsPerSecond(counts, settings);
  const { writesPerSecond = Number.POSITIVE_INFINITY } = counts;
  if (beats + counts.changesPerSecond >= writesPerSecond) {
    found.push(
      `Heartbeats and changes of pods alone are ${Math.ceil(beats + counts.changesPerSecond)} ` +
        `writes a second: --write-capacity must be at least ` +
        `${Math.floor(beats + counts.changesPerSecond) + 1}, or there is no steady state.`,
    );
  }
  const churnMax = Math.min(counts.pods, counts.services);
  if (counts.changesPerSecond > churnMax) {
    found.push(
      `${counts.changesPerSecond} changes a second are more than one a second of each pod or ` +
        `service: --churn may be at most ${churnMax} here.`,
    );
  }
  return found;
}

function versionsWith(flag: "endpoint-updates-batch-period"): string {
  const known = profileNames.filter((name) => !profileNamed(name).flags.lacks.includes(flag));
  return known.join(" or ");
}
