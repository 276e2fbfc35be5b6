// The jobs of the lab's thread, and the messages between it and its owner. A job is a simulation: an
// incident, a prediction or a part of one. It needs a thread of its own, because real time and the real network are
// forbidden in a thread while it simulates.
import type { Diagnosis } from "../../doctor/diagnose.ts";
import type { IncidentResult } from "../incidents/incident.ts";
import type { PlaySize, StageProgress } from "../incidents/stage.ts";
import type { NodePrediction } from "../whatif/node-run.ts";
import type { Prediction, PublishingPrediction } from "../whatif/prediction.ts";
import type { Question } from "../whatif/question.ts";

/** An incident in virtual time. */
export interface IncidentJob {
  readonly type: "incident";
  readonly name: string;
  readonly fix: boolean;
  readonly seed: number;
  readonly size: PlaySize;
  /** Only the release of `throttled-controller`, without the settings it is compared with. */
  readonly releaseOnly?: boolean;
  /** The doctor examines the files that an operator would have of the incident. */
  readonly examine: boolean;
}

export interface PlayedIncident {
  readonly result: IncidentResult;
  /** Undefined unless it was examined. */
  readonly diagnosis: Diagnosis | undefined;
}

export interface PredictionJob {
  readonly type: "prediction";
  readonly question: Question;
}

/** Only a part of a prediction, which takes less time. */
export interface PublishingJob {
  readonly type: "publishing";
  readonly question: Question;
}

export interface NodesJob {
  readonly type: "nodes";
  readonly question: Question;
}

interface Results {
  readonly incident: PlayedIncident;
  readonly prediction: Prediction;
  readonly publishing: PublishingPrediction;
  readonly nodes: NodePrediction;
}

export type LabJob = IncidentJob | PredictionJob | PublishingJob | NodesJob;

export type LabResult<Job extends LabJob> = Results[Job["type"]];

/** To the thread. One job is running at a time, so jobs need no number. */
export type LabRequest =
  | { readonly type: "run"; readonly job: LabJob }
  /** The job that is running fails. */
  | { readonly type: "abort" };

/** From the thread: any number of `progress`, then one of the others. */
export type LabAnswer =
  | ({ readonly type: "progress" } & StageProgress)
  | { readonly type: "done"; readonly result: LabResult<LabJob> }
  | { readonly type: "failed"; readonly message: string };

/** The side of the owner. */
export interface LabPort {
  post(request: LabRequest): void;
  /** Ends the thread at once. */
  end(): Promise<void>;
}

export interface LabPortEvents {
  readonly onAnswer: (answer: LabAnswer) => void;
  /** The thread ended by itself. */
  readonly onEnded: (why: string) => void;
}

export type StartLabThread = (events: LabPortEvents) => LabPort;
