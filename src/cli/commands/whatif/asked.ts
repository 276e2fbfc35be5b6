// From what was typed to a question: presets and defaults where nothing was said, and a refusal that
// names the allowed range where it cannot be.
import { parseGoDuration } from "../../../environment/go-duration.ts";
import { controllerFlags } from "../../../lab/controllers/flags.ts";
import { writeUpGap } from "../../../lab/incidents/heartbeat-flap/settings.ts";
import { writeUpSettings as resyncStorm } from "../../../lab/incidents/resync-storm/settings.ts";
import { writeUpSettings as throttledController } from "../../../lab/incidents/throttled-controller/settings.ts";
import { type ProfileName, profileNamed, profileNames } from "../../../lab/versions/profiles.ts";
import { contradictionsOf, type InputKey, inputs } from "../../../lab/whatif/inputs.ts";
import type { Counts, Heartbeat, Question } from "../../../lab/whatif/question.ts";
import { UsageError } from "../../command.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";

/** Numbers that were given, by the name they were given under. */
export type Given = Readonly<Partial<Record<InputKey, number>>>;

export interface Asked {
  readonly preset?: PresetName;
  readonly given: Given;
  readonly version?: ProfileName;
  readonly heartbeat?: HeartbeatGap;
  readonly seed: number;
  /** Read from a cluster; what was typed goes before it. */
  readonly read?: { readonly given: Given; readonly version: ProfileName };
}

/** As it was typed: the way of reporting is the version's unless it was named. */
export interface HeartbeatGap {
  readonly by: Heartbeat["by"] | undefined;
  readonly minMs: number;
  readonly maxMs: number;
}

export type PresetName = "resync-storm" | "throttled-controller" | "heartbeat-flap";

interface Preset {
  readonly version: ProfileName;
  readonly given: Given;
  readonly heartbeat?: HeartbeatGap;
  /** What the write-up does not say, and why it was taken. */
  readonly fitted: string;
}

const { services: fittedServices, workers: fittedWorkers } = throttledController;

/** With the shop of the incident. */
const resyncStormServices = resyncStorm.services + 1;

/** The clusters of the write-ups; what they do not say is fitted, as in the incidents. */
const presets: Readonly<Record<PresetName, Preset>> = {
  "resync-storm": {
    version: "1.17.3",
    given: {
      services: resyncStormServices,
      "headless-share": resyncStorm.headless / resyncStormServices,
    },
    fitted:
      "no limit on writes of the API server (about 43 a second in the real incident; to use it: " +
      "--write-capacity 43)",
  },
  "throttled-controller": {
    version: "1.7",
    given: { services: fittedServices, workers: fittedWorkers },
    fitted:
      `${fittedServices.toLocaleString("en-US")} services; ` +
      `${fittedWorkers} endpoint workers (from the wait in the log: workers ÷ qps)`,
  },
  "heartbeat-flap": {
    version: "1.7",
    given: { services: 100 },
    heartbeat: { by: "status", ...writeUpGap },
    fitted:
      "100 services; heartbeat gaps distributed evenly from 20 to 50 s, the range in the report",
  },
};

export function fittedIn(name: PresetName): string {
  return presets[name].fitted;
}

export const presetNames: readonly PresetName[] = [
  "resync-storm",
  "throttled-controller",
  "heartbeat-flap",
];

/** What is taken when nothing at all is said about the cluster. */
export const examplePreset: PresetName = "resync-storm";

const defaultVersion: ProfileName = "1.33";

/** About what a change in quiet times takes on real servers, 4 to 6 ms, is made of. */
const defaultCounts: Omit<Counts, "pods"> = {
  services: 1_000,
  headlessShare: 0,
  nodes: 10,
  changesPerSecond: 0,
  writesPerSecond: undefined,
  writeLatencyMs: 3,
};

/** pkg/kubelet: every 10 s, stretched by up to 4 %. */
const timely = { minMs: 10_000, maxMs: 10_400 };

const refusalWidth = 78;

const heartbeatFromMs = 1_000;
const heartbeatToMs = 3_600_000;

export function questionOf(asked: Asked): Question {
  const preset = asked.preset && presets[asked.preset];
  const version = asked.version ?? preset?.version ?? asked.read?.version ?? defaultVersion;
  const given = { ...preset?.given, ...asked.read?.given, ...asked.given };
  const profile = profileNamed(version);
  const flags = controllerFlags(profile);
  const heartbeat = asked.heartbeat ?? preset?.heartbeat ?? { by: undefined, ...timely };
  let question: Question = {
    counts: { ...defaultCounts, pods: given.pods ?? given.services ?? defaultCounts.services },
    settings: {
      version,
      qps: flags["kube-api-qps"],
      burst: flags["kube-api-burst"],
      workers: flags["concurrent-endpoint-syncs"],
      resyncMs: flags["min-resync-period"],
      batchMs: flags["endpoint-updates-batch-period"],
      graceMs: flags["node-monitor-grace-period"],
      heartbeat: {
        by: heartbeat.by ?? (profile.nodes.leases ? "lease" : "status"),
        minMs: heartbeat.minMs,
        maxMs: heartbeat.maxMs,
      },
    },
    seed: asked.seed,
  };
  for (const input of inputs) {
    const value = given[input.key];
    if (value !== undefined) question = input.with(question, value);
  }
  const contradictions = contradictionsOf(question);
  if (contradictions.length > 0) {
    const lines = contradictions.flatMap((text) => wrapText(text, { width: refusalWidth }));
    throw new UsageError(lines.join("\n"));
  }
  return question;
}

/** `10s`, `20s..50s`, `lease:20s..50s`; undefined when it is none of these. */
export function parseHeartbeat(text: string): HeartbeatGap | undefined {
  const [, way, first = "", second] =
    /^(?:(status|lease):)?([^.]+)(?:\.\.([^.]+))?$/.exec(text) ?? [];
  const minMs = parseGoDuration(first);
  const maxMs = second === undefined ? minMs : parseGoDuration(second);
  if (minMs === undefined || maxMs === undefined || minMs > maxMs) return undefined;
  if (minMs < heartbeatFromMs || maxMs > heartbeatToMs) return undefined;
  return { by: way === "status" || way === "lease" ? way : undefined, minMs, maxMs };
}

export function parseVersion(text: string): ProfileName | undefined {
  return profileNames.find((name) => name === text.replace(/^v/, ""));
}
