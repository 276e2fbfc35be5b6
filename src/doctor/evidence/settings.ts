// Flags and versions, wherever a text names them: a pod's arguments, a unit file, `ps`, `FLAG:` lines
// of a log, `kubectl version`, the tag of an image, a user agent.
import type { Place } from "./sign-log.ts";

export interface FlagValue {
  readonly value: string;
  readonly place: Place;
}

/** Only flags that a cause reads; a flag of one program never means another thing in another one. */
const knownFlags = [
  "apiserver-count",
  "concurrent-endpoint-syncs",
  "concurrent-service-endpoint-syncs",
  "endpoint-reconciler-type",
  "kube-api-burst",
  "kube-api-qps",
  "min-resync-period",
  "node-monitor-grace-period",
  "node-status-update-frequency",
] as const;

export type FlagName = (typeof knownFlags)[number];

const flag = new RegExp(
  String.raw`--(${knownFlags.join("|")})(?:[=\s]["']?|["'],?\s*["'])(\d[\w.]*|lease|master-count|none)`,
  "g",
);

/** Whether a cause reads the flag in this text: `--kube-api-qps=20`. */
export function isKnownFlag(text: string): boolean {
  return text.search(flag) !== -1;
}

/** Too frequent in logs, where labels, paths and images have them; only a sentence is searched for them. */
const proseWord = "ubernetes";
const shortWords = ["k8", "K8"];
const proseWords = [proseWord, ...shortWords];

/** Anything that leads to a version, before it; the surest first. Each has one of its words. */
const versionForms: readonly { readonly words: readonly string[]; readonly form: RegExp }[] = [
  {
    words: ["Server Version:"],
    form: /Server Version:.*?GitVersion:\s*"v?(\d+\.\d+(?:\.\d+)?)/,
  },
  { words: ["Server Version:"], form: /Server Version:\s*v?(\d+\.\d+(?:\.\d+)?)/ },
  {
    words: ["hyperkube", "kube-apiserver", "kube-controller-manager"],
    form: /(?:hyperkube|kube-apiserver|kube-controller-manager)(?:-amd64)?(?::v?| ?\(?v)(\d+\.\d+\.\d+)/,
  },
  {
    words: ["kube-apiserver", "kube-controller-manager"],
    form: /kube-(?:apiserver|controller-manager)\/v(\d+\.\d+\.\d+)/,
  },
  {
    words: [
      "ubernetes version",
      "ubernetes Version",
      "ubernetes cluster version",
      "ubernetes v1.",
      "ubernetes 1.",
      proseWord,
    ],
    form: /[Kk]ubernetes(?: [Vv]ersion)?[^\d\n]{0,40}\bv?(1\.\d{1,2}(?:\.\d{1,2})?)\b/,
  },
  {
    words: shortWords,
    form: /\b[Kk]8s?(?: version)?[: ]{1,2}v?(1\.\d{1,2}(?:\.\d{1,2})?)\b/,
  },
];

const flagWords = knownFlags.map((name) => `--${name}`);

/** A line has a flag or a version only if it contains one of these. */
export const settingWords: readonly string[] = [
  ...flagWords,
  ...versionForms.flatMap(({ words }) => words).filter((word) => !proseWords.includes(word)),
];

const anySettingWord: ReadonlySet<string> = new Set([...settingWords, ...proseWords]);

export class Settings {
  readonly #flags = new Map<FlagName, FlagValue>();
  #version: FlagValue | undefined;
  #versionRank = versionForms.length;

  /** A line that belongs to no log. */
  readProse(text: string, place: Place, words: readonly string[]): void {
    this.read(text, place, [...words, ...proseWords.filter((word) => text.includes(word))]);
  }

  /** A line that contains these words. */
  read(text: string, place: Place, words: readonly string[]): void {
    if (!words.some((word) => anySettingWord.has(word))) return;
    if (words.some((word) => word.startsWith("--"))) this.#readFlags(text, place);
    for (const [rank, { words: own, form }] of versionForms.entries()) {
      if (rank >= this.#versionRank) break;
      if (!own.some((word) => words.includes(word))) continue;
      const value = form.exec(text)?.[1];
      if (value === undefined) continue;
      this.#version = { value, place };
      this.#versionRank = rank;
    }
  }

  #readFlags(text: string, place: Place): void {
    for (const [, name, value] of text.matchAll(flag)) {
      if (name !== undefined && value !== undefined) {
        this.#flags.set(name as FlagName, { value, place });
      }
    }
  }

  flag(name: FlagName): FlagValue | undefined {
    return this.#flags.get(name);
  }

  get flags(): ReadonlyMap<string, FlagValue> {
    return this.#flags;
  }

  /** Of the API server or the controller manager: `1.17.3`, or `1.17`. */
  get version(): FlagValue | undefined {
    return this.#version;
  }
}

/** Of a version text; the patch is undefined when it was not given. */
export function versionParts(text: string): { minor: number; patch: number | undefined } {
  const [, minor = "0", patch] = text.split(".");
  return { minor: Number(minor), patch: patch === undefined ? undefined : Number(patch) };
}
