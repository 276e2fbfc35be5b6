// The time from the beginning of the trouble in a play until `lockstep doctor` names its cause first. The
// doctor runs beside the play with its defaults, again and again, and knows only the kubeconfig.
import { diagnose } from "../../doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../../doctor/evidence/evidence.ts";
import { examineCluster } from "../../doctor/live/examine-cluster.ts";
import { Gathered } from "../../doctor/live/gathered.ts";
import { LiveReader } from "../../doctor/live/live-reader.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { RateLimitedClient } from "../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { Measure } from "./incident.ts";
import type { Stage } from "./stage.ts";

/** As long and as fast as the command does it. */
const forMs = 60_000;
const maxQps = 10;

/** Then it is not going to find it. */
const triesMax = 30;

type ExaminedStage = Pick<Stage, "environmentOf" | "now">;

export class TimeToCause {
  readonly #cause: string;
  readonly #stopping = new AbortController();
  #looking: { readonly stage: ExaminedStage; readonly ended: Promise<void> } | undefined;
  #namedAfterMs: number | undefined;

  /** Of the cause that has to be named. */
  constructor(cause: string) {
    this.#cause = cause;
  }

  /** Only the first trouble of a play counts. */
  begin(stage: ExaminedStage, access: ClusterAccess): void {
    this.#looking ??= { stage, ended: this.#look(stage, access) };
  }

  /** The stage is cleared; resolves when it looks no more. */
  async stopOn(stage: ExaminedStage): Promise<void> {
    if (this.#looking?.stage !== stage) return;
    this.#stopping.abort(new Error("the play is over"));
    await this.#looking.ended;
  }

  /** A row of the table; not named at all means that the goal is missed. */
  get measure(): Measure {
    return {
      id: "cause-named",
      text: "time until lockstep doctor named the cause",
      unit: "ms",
      stock: undefined,
      lockstep: this.#namedAfterMs,
      goal: "named first",
      held: this.#namedAfterMs !== undefined,
      isHeadline: true,
    };
  }

  async #look(stage: ExaminedStage, access: ClusterAccess): Promise<void> {
    const beganMs = stage.now();
    const { signal } = this.#stopping;
    for (let tries = 0; tries < triesMax && !signal.aborted; tries += 1) {
      if ((await this.#firstCause(stage, access)) !== this.#cause) continue;
      this.#namedAfterMs = stage.now() - beganMs;
      return;
    }
  }

  async #firstCause(stage: ExaminedStage, access: ClusterAccess): Promise<string | undefined> {
    const environment = stage.environmentOf("doctor");
    const { signal } = this.#stopping;
    const facts = noFacts();
    const client = new RateLimitedClient({
      client: new HttpKubeClient({ ...environment, cluster: access, userAgent: "lockstep-doctor" }),
      bucket: new TokenBucket({ ...environment, qps: maxQps, burst: 1 }),
      clock: environment.clock,
      onThrottled: () => undefined,
    });
    const { isInterrupted } = await examineCluster({
      ...environment,
      cluster: access.name,
      reader: new LiveReader({ client, signal }),
      gathered: new Gathered({ facts, cluster: access.name }),
      signal,
      forMs,
      maxQps,
      onCost: () => undefined,
      onProgress: () => undefined,
    });
    if (isInterrupted) return undefined;
    const [first] = diagnose(evidenceIn(facts)).findings;
    return first?.severity === "info" ? undefined : first?.rule;
  }
}
