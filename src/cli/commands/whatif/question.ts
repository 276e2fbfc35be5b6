// Builds the question of `lockstep whatif` from flags, a preset, numbers read from a cluster, and
// defaults. Contradictions between values are refused with the allowed range.
import { writeUpGap } from "../../../lab/incidents/heartbeat-flap/settings.ts";
import { writeUpSettings as resyncStorm } from "../../../lab/incidents/resync-storm/settings.ts";
import { writeUpSettings as throttledController } from "../../../lab/incidents/throttled-controller/settings.ts";
import { type ProfileName, profileNamed } from "../../../lab/versions/profiles.ts";
import { contradictionsOf, type InputKey, inputs } from "../../../lab/whatif/inputs.ts";
import type { Counts, Heartbeat, Question } from "../../../lab/whatif/question.ts";
import { defaultSettings } from "../../../lab/whatif/run-flags.ts";
import { UsageError } from "../../command.ts";
import { wrapText } from "../../terminal/text.ts";

/** Given numbers by the name of their flag. */
type Given = Readonly<Partial<Record<InputKey, number>>>;

export interface Asked {
  readonly preset?: PresetName;
  readonly given: Given;
  readonly version?: ProfileName;
  readonly heartbeat?: HeartbeatGap;
  readonly seed: number;
  /** Read from a cluster; flags override it. */
  readonly read?: { readonly given: Given; readonly version: ProfileName };
}

/** Undefined `by`: kubelets report as they do in this version. */
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
  /** Assumptions that the incident report does not contain. */
  readonly fitted: string;
}

const { services: fittedServices, workers: fittedWorkers } = throttledController;

/** With the shop of the incident. */
const resyncStormServices = resyncStorm.services + 1;

/** The clusters of the incident reports, with the same assumptions as the replayed incidents. */
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

export function presetVersion(name: PresetName): ProfileName {
  return presets[name].version;
}

export const presetNames: readonly PresetName[] = [
  "resync-storm",
  "throttled-controller",
  "heartbeat-flap",
];

/** Used when no flag describes the cluster. */
export const examplePreset: PresetName = "resync-storm";

const defaultVersion: ProfileName = "1.33";

/** With 3 ms per write, a change in an idle cluster takes 4 to 6 ms, as on real servers. */
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

export function questionOf(asked: Asked): Question {
  const preset = asked.preset && presets[asked.preset];
  const version = asked.version ?? preset?.version ?? asked.read?.version ?? defaultVersion;
  const given = { ...preset?.given, ...asked.read?.given, ...asked.given };
  const profile = profileNamed(version);
  const heartbeat = asked.heartbeat ?? preset?.heartbeat ?? { by: undefined, ...timely };
  let question: Question = {
    counts: { ...defaultCounts, pods: given.pods ?? given.services ?? defaultCounts.services },
    settings: {
      version,
      ...defaultSettings(version),
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
