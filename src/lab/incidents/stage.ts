// The stage of an incident: machines, each with its environment, and time. Plays use only this interface,
// so the same play runs in virtual time and over real sockets.

import type { StorageEvent } from "../../apiserver/storage/storage.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Random } from "../../environment/random.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedInput } from "../../observe/routed-witness.ts";
import type { AccuracyCounters } from "../observed/observer-accuracy.ts";
import type { StageRecorder } from "../saved/stage-recorder.ts";

export interface Stage {
  readonly mode: "virtual" | "live";
  /** `full` as in the write-up; `short` has fewer objects and shorter times, to be watched. */
  readonly size: PlaySize;
  /** The environment of a machine; the same name gives the same machine. */
  environmentOf(machine: string): Environment;
  /** The address a machine listens on; no two machines share one. */
  hostOf(machine: string): string;
  /** The machine's own folder, for sockets and files. */
  folderOf(machine: string): string;
  /**
   * From now on the machine does not answer, not even with a refusal. False where that is impossible:
   * over real sockets the kernel refuses connections to a closed port.
   */
  powerOff(machine: string): boolean;
  /** The first two octets of the pods' addresses. */
  readonly podNetwork: string;
  /** Random choices of the play itself; no machine draws from it. */
  readonly random: Random;
  /** Collects the files that an operator would have; absent unless they are saved. */
  readonly recorder?: StageRecorder;
  /** Compares the journeys of an observer with the ledger. */
  readonly accuracy: Pick<AccuracyCounters, "add">;
  /** Receives the real events, to judge an observer; absent where none is judged. */
  readonly truth?: StageTruth;
  /** The trouble begins, in the cluster with this access; absent where its cause is not looked for. */
  readonly onTrouble?: (access: ClusterAccess) => void;
  /** Called when other tools can observe the play; absent where they cannot. */
  readonly onObservable?: (play: ObservablePlay) => void;
  /** Milliseconds since the stage was opened. */
  now(): number;
  /** Rejects when the play is aborted. */
  sleep(ms: number): Promise<void>;
  /** Reports the current step in a few words. */
  say(step: string): void;
}

/** The real events of a play, each at its instant. */
export interface StageTruth {
  /** The storage commits a change, before any watch reports it. */
  readonly stored: (event: StorageEvent) => void;
  /** A replica reports its routes. */
  readonly routed: (replica: string, input: RoutedInput) => void;
}

/** How other tools reach the cluster and the stock replicas during a play. */
export interface ObservablePlay {
  readonly access: ClusterAccess;
  /** `host:port` at which each replica reports its routes, as ingress-nginx does. */
  readonly proxies: readonly string[];
  /** Their access logs, in ingress-nginx's format. */
  readonly accessLogs: readonly string[];
}

/** Opens a new stage, always with the same seed, plays on it, and clears it. */
export type OpenStage = <Result>(play: (stage: Stage) => Promise<Result>) => Promise<Result>;

export type PlaySize = "full" | "short";

export interface StageProgress {
  readonly step: string;
  /** On the stage that is open. */
  readonly stageMs: number;
}
