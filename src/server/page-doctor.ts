// The doctor behind the page: examines the observed clusters when a person asks, one after the other and
// within a rate, and keeps the last result. It only reads.
import { allCauses, type Diagnosis, diagnose } from "../doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../doctor/evidence/evidence.ts";
import type { Finding as FoundFinding } from "../doctor/finding.ts";
import { type PredictFix, withEffects } from "../doctor/fix-effect.ts";
import { examineCluster } from "../doctor/live/examine-cluster.ts";
import { Gathered } from "../doctor/live/gathered.ts";
import { LiveReader } from "../doctor/live/live-reader.ts";
import { markdownLines } from "../doctor/report/markdown.ts";
import { withoutSecrets, withTexts } from "../doctor/report/redacted.ts";
import type { Environment } from "../environment/environment.ts";
import { RateLimitedClient } from "../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";
import type { ObservedCluster } from "../observe/observer.ts";
import type { Journey } from "../timeline/journey.ts";
import type { Doctor, Finding } from "./api.ts";
import type { PageDoctor } from "./page-source.ts";

export interface LivePageDoctorOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly clusters: readonly ObservedCluster[];
  /** Changes of a cluster, those in flight included. */
  readonly journeys: (cluster: string) => readonly Journey[];
  readonly maxQps?: number | undefined;
  /** The effect of a fix; without it none is predicted. */
  readonly predict?: PredictFix | undefined;
  /** The answer has changed. */
  readonly onChange: () => void;
}

/** As `lockstep doctor --context`. */
const defaultMaxQps = 10;
const forMs = 30_000;

export class LivePageDoctor implements PageDoctor {
  readonly #options: LivePageDoctorOptions;
  readonly #stopping = new AbortController();
  /** By cluster and rule, when it was first found. */
  readonly #since = new Map<string, number>();
  #answer: Doctor = {
    state: "idle",
    detail: "The clusters were not examined yet.",
    examinedAt: null,
    findings: [],
    ruledOut: [],
    notExamined: [],
    markdown: "",
  };
  #running: Promise<void> | undefined;

  constructor(options: LivePageDoctorOptions) {
    this.#options = options;
  }

  readonly answer = (): Doctor => this.#answer;

  readonly examine = (): void => {
    if (this.#running !== undefined || this.#stopping.signal.aborted) return;
    this.#set({ state: "examining", detail: "Starting." });
    this.#running = this.#examineAll().finally(() => {
      this.#running = undefined;
    });
  };

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the doctor is stopped"));
    await this.#running;
  }

  async #examineAll(): Promise<void> {
    const { clusters, clock, log } = this.#options;
    const examined: { readonly cluster: string; readonly diagnosis: Diagnosis }[] = [];
    const problems: string[] = [];
    try {
      // One after the other: what is found in one cluster says nothing about another one.
      for (const observed of clusters) {
        const { cluster } = observed;
        const found = await this.#examine(observed);
        examined.push({ cluster, diagnosis: withTexts(found.diagnosis, withoutSecrets) });
        problems.push(...found.problems.map((text) => `${cluster}: ${withoutSecrets(text)}`));
      }
      this.#set({ ...this.#result(examined, problems), examinedAt: clock.wallMs() });
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.error("the doctor failed", { error });
      const why = error instanceof Error ? error.message : String(error);
      this.#set({ state: "failed", detail: `The examination failed: ${withoutSecrets(why)}` });
    }
  }

  async #examine({ cluster, client }: ObservedCluster) {
    const { clock, timers, random, log, maxQps = defaultMaxQps, journeys } = this.#options;
    const { signal } = this.#stopping;
    const bucket = new TokenBucket({ clock, timers, qps: maxQps, burst: 1 });
    const onThrottled = (): void => undefined;
    const limited = new RateLimitedClient({ client, bucket, clock, onThrottled });
    const reader = new LiveReader({ client: limited, signal });
    const facts = noFacts();
    const gathered = new Gathered({ facts, cluster });
    const onProgress = (step: string, detail: string): void => {
      const text = `${cluster}: ${step}${detail === "" ? "" : ` (${detail})`}`;
      if (text !== this.#answer.detail) this.#set({ detail: text });
    };
    await examineCluster({
      cluster,
      reader,
      gathered,
      clock,
      timers,
      random,
      log,
      signal,
      forMs,
      maxQps,
      onCost: () => undefined,
      onProgress,
    });
    // The page has observed for longer than the examination.
    const seen = { source: "changes", journeys: journeys(cluster), nowMs: clock.monotonicMs() };
    const evidence = { ...evidenceIn(facts), journeys: seen };
    const diagnosis = diagnose(evidence);
    const { predict } = this.#options;
    return {
      diagnosis:
        predict === undefined
          ? diagnosis
          : await withEffects(diagnosis, evidence, {
              causes: allCauses,
              predict,
              signal,
              onProgress,
            }),
      problems: reader.problems,
    };
  }

  #result(
    examined: readonly { readonly cluster: string; readonly diagnosis: Diagnosis }[],
    problems: readonly string[],
  ): Partial<Doctor> {
    const findings = examined.flatMap(({ cluster, diagnosis }) =>
      diagnosis.findings.map((finding) => this.#finding(finding, cluster)),
    );
    const open = examined.flatMap(({ diagnosis }) => diagnosis.open);
    const unexamined = examined.flatMap(({ diagnosis }) => diagnosis.unexamined);
    const named = new Set([
      ...findings.flatMap(({ rule, consequences }) => [
        rule,
        ...consequences.map((one) => one.rule),
      ]),
      ...open.map(({ rule }) => rule),
      ...unexamined.flatMap(({ rules }) => rules),
    ]);
    return {
      state: "idle",
      detail: null,
      findings,
      ruledOut: allCauses.flatMap(({ name, summary }) =>
        named.has(name) ? [] : [`${name}: ${summary}`],
      ),
      notExamined: [
        ...problems,
        ...open.map(
          ({ rule, missing }) => `${rule}: not enough evidence; missing: ${missing.join("; ")}`,
        ),
        ...new Set(
          unexamined.map(
            ({ rules, provide }) => `no evidence for ${rules.join(", ")}; provide ${provide}`,
          ),
        ),
      ],
      markdown: examined
        .flatMap(({ cluster, diagnosis }) => [`## ${cluster}`, "", ...markdownLines(diagnosis), ""])
        .join("\n"),
    };
  }

  #finding(finding: FoundFinding, cluster: string): Finding {
    const key = `${cluster} ${finding.rule}`;
    const since = this.#since.get(key) ?? this.#options.clock.wallMs();
    this.#since.set(key, since);
    return pageFinding(finding, { cluster, since });
  }

  #set(change: Partial<Doctor>): void {
    this.#answer = { ...this.#answer, ...change };
    this.#options.onChange();
  }
}

/** A finding as the page gets it. */
export function pageFinding(
  finding: FoundFinding,
  found: Pick<Finding, "cluster" | "since">,
): Finding {
  return { ...plain(finding), ...found, consequences: finding.consequences.map(plain) };
}

function plain(finding: FoundFinding): Omit<Finding, "cluster" | "since" | "consequences"> {
  const { rule, severity, confidence, hop, cause, evidence, fix, missing, affected, page } =
    finding;
  const { component, change, reason } = fix;
  return {
    rule,
    severity,
    confidence,
    hop: hop ?? null,
    cause,
    evidence: [...evidence],
    fix: { component, change, reason, effect: fix.effect ?? null },
    affected,
    page,
    missing: [...missing],
  };
}
