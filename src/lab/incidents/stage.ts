// Where an incident is played: machines with an environment each, and time that passes. Plays are
// written against this alone, so the same play runs in virtual time and over real sockets.

import type { StorageEvent } from "../../apiserver/storage/storage.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Random } from "../../environment/random.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedInput } from "../../observe/routed-witness.ts";
import type { AccuracyMeter } from "../observed/observer-accuracy.ts";
import type { StageRecorder } from "../saved/stage-recorder.ts";

export interface Stage {
  readonly mode: "virtual" | "live";
  /** The environment of a machine; the same name gives the same machine. */
  environmentOf(machine: string): Environment;
  /** The address a machine listens on; no two machines share one. */
  hostOf(machine: string): string;
  /** A folder of the machine's own, for sockets and files. */
  folderOf(machine: string): string;
  /**
   * From now on the machine answers nothing, not even with a refusal. False where that cannot be
   * played: over real sockets somebody always refuses in the place of one who is gone.
   */
  powerOff(machine: string): boolean;
  /** The first two octets of the pods' addresses. */
  readonly podNetwork: string;
  /** Chance for the play itself; no machine draws from it. */
  readonly random: Random;
  /** Collects what an operator would have of what happens here; absent unless it is to be saved. */
  readonly recorder?: StageRecorder;
  /** Takes what an observer saw of a play and what really happened. */
  readonly accuracy: Pick<AccuracyMeter, "add">;
  /** Receives what really happens, to judge an observer by; absent where none is judged so. */
  readonly truth?: StageTruth;
  /** For those who want to look at the play with tools of their own; absent where nobody can. */
  readonly onObservable?: (invitation: ObservablePlay) => void;
  /** Milliseconds since the stage was opened. */
  now(): number;
  /** Rejects when the play is called off. */
  sleep(ms: number): Promise<void>;
  /** What is being done, in a few words, for those who wait. */
  say(step: string): void;
}

/** What really happens in a play, each in the instant in which it does. */
export interface StageTruth {
  /** The storage commits this, before any watch reports it. */
  readonly stored: (event: StorageEvent) => void;
  /** The replica's own report of its routes. */
  readonly routed: (replica: string, input: RoutedInput) => void;
}

/** Where the cluster and the stock replicas can be asked while a play goes on. */
export interface ObservablePlay {
  readonly access: ClusterAccess;
  /** `host:port` at which each replica says what it routes to, as ingress-nginx does. */
  readonly proxies: readonly string[];
  /** Where they log requests, in ingress-nginx's format. */
  readonly accessLogs: readonly string[];
}

/** Plays on a fresh stage, with the same chance each time, and clears it afterwards. */
export type OpenStage = <Result>(play: (stage: Stage) => Promise<Result>) => Promise<Result>;

export interface StageProgress {
  readonly step: string;
  /** On the stage that is open. */
  readonly stageMs: number;
}
