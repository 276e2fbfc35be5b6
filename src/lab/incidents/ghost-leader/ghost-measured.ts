// What a play of the incident `ghost-leader` saw, before anything is made of it.
import type { NamedGhost } from "./ghost-scene.ts";
import type { LockHistory } from "./lock-watch.ts";
import type { StatusBoard } from "./status-watch.ts";

/** A holder of a lock that renews it and whose pod does not exist. */
export interface Ghost {
  readonly identity: string;
  /** Since when no list of pods has shown it. */
  readonly goneAtMs: number;
}

export interface Ghosts {
  readonly stock: Ghost;
  readonly lockstep: Ghost;
  /** The machines they run on. */
  readonly nodes: ReadonlySet<string>;
}

export interface GhostLook {
  readonly atMs: number;
  readonly empty: number;
  readonly total: number;
  /** Pods of the holder's name, anywhere. */
  readonly podsOfHolder: number;
  /** Live replicas, and those of them whose log says that the ghost leads. */
  readonly replicas: number;
  readonly believers: number;
  readonly requests: number;
  readonly answered: number;
}

export interface GhostRepair {
  readonly editedAtMs: number;
  /** When the stray machines began to be stopped. */
  readonly stoppedAtMs: number;
  /** For how long after the edit the ghost still acted as the leader. */
  readonly displacedMs: number | undefined;
  /** How often it tried to get the lock back until its machine was stopped. */
  readonly triesAfterEdit: number;
}

export interface GhostMeasured {
  readonly ghosts: Ghosts;
  readonly releasedAtMs: number;
  readonly endedAtMs: number;
  readonly held: GhostLook;
  readonly afterRestart: GhostLook;
  readonly fixed: GhostRepair | undefined;
  readonly named: readonly NamedGhost[];
  readonly boards: { readonly stock: StatusBoard; readonly lockstep: StatusBoard };
  readonly locks: { readonly stock: LockHistory; readonly lockstep: LockHistory };
}
