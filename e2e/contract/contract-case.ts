// One case of the API contract: a few requests whose answers any Kubernetes API server should give
// alike. A case knows nothing of the server; whatever it sees is in the transcript.

/** One request and its whole answer, as far as it can be compared. */
export interface Step {
  /** `POST /api/v1/namespaces`, with the query. */
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON where it is JSON, a list of events for a watch, the text otherwise. */
  readonly body: unknown;
}

export type Transcript = readonly Step[];

export interface Reply extends Step {
  readonly text: string;
}

export interface CallOptions {
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** "" sends none. */
  readonly token?: string;
  /** The compared part of the body; all of it unless given. */
  readonly project?: (body: unknown) => unknown;
}

export interface WatchOptions extends CallOptions {
  /** Ends after so many events; otherwise when the server ends it. */
  readonly events?: number;
  /** Runs once so many events have arrived; at once unless given. */
  readonly during?: () => Promise<void>;
  readonly after?: number;
}

export interface CaseWorld {
  /** A name of this case's own in this run; also fit for a namespace, which `open` makes. */
  readonly name: string;
  /** Makes the namespace, without a step in the transcript. */
  readonly open: () => Promise<void>;
  /** A text, Buffer or object as body. Each call is a step of the transcript. */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions,
  ) => Promise<Reply>;
  readonly watch: (path: string, options?: WatchOptions) => Promise<readonly unknown[]>;
  /** Reads the path until its status is this one. Not a step of the transcript. */
  readonly untilStatus: (path: string, status: number, options?: CallOptions) => Promise<void>;
  /** Waits on the server's clock. */
  readonly sleep: (ms: number) => Promise<void>;
}

export interface ContractCase {
  /** The part of the API that it tests: a row of the fidelity table. */
  readonly area: string;
  /** A sentence, unique within the area. */
  readonly name: string;
  readonly run: (world: CaseWorld) => Promise<void>;
}

export function caseName({ area, name }: Pick<ContractCase, "area" | "name">): string {
  return `${area}: ${name}`;
}
