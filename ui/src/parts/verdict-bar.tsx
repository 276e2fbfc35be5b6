// The verdict: which hop is late, the path with a clock on every hop, and three answers: since when, why,
// and what to do. A screen reader says a new verdict, not every new figure of it.
import { useEffect, useState } from "react";
import type { Finding, State, Verdict } from "../../../src/server/api.ts";
import { absolute, clockTime } from "../format.ts";
import { routeHref } from "../route.ts";
import { CopyBox } from "./copy-button.tsx";
import { HopPath } from "./hop-path.tsx";
import { Ago } from "./time.tsx";

const words: Readonly<Record<Verdict["level"], string>> = {
  ok: "● In step",
  late: "▲ Late",
  lost: "■ Requests lost",
  unknown: "? Not known",
};

interface VerdictProps {
  readonly state: State;
  /** The one that explains it. */
  readonly finding: Finding | undefined;
  /** The start of the first late change. */
  readonly lateSince: number | undefined;
}

export function VerdictBar({ state, finding, lateSince }: VerdictProps) {
  const { verdict } = state;
  const isBad = verdict.level === "late" || verdict.level === "lost";
  return (
    <section className={`panel verdict verdict-${verdict.level}`} aria-label="Verdict">
      <p className="verdict-text">
        <span className={`badge ${verdict.level}`}>{words[verdict.level]}</span>{" "}
        <span>{verdict.headline}</span>
      </p>
      <HopPath state={state} />
      {isBad && <Answers state={state} finding={finding} lateSince={lateSince} />}
      <Announced verdict={verdict} />
    </section>
  );
}

function Answers({ state, finding, lateSince }: VerdictProps) {
  const { verdict, can } = state;
  const query = new URLSearchParams(verdict.rule === null ? [] : [["rule", verdict.rule]]);
  const doctor = routeHref(["doctor"], query);
  return (
    <dl className="answers">
      <div>
        <dt>Since</dt>
        <dd>
          {lateSince === undefined ? (
            <span>not known</span>
          ) : (
            <>
              <span title={absolute(lateSince)}>{clockTime(lateSince)}</span>{" "}
              <span className="dim">
                <Ago at={lateSince} />
              </span>
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Why</dt>
        <dd>
          {verdict.cause ?? "Not known yet."}{" "}
          {verdict.confidence !== null && <span className="dim">{verdict.confidence}. </span>}
          {can.doctor && (
            <a href={doctor}>{verdict.cause === null ? "Ask the doctor →" : "Evidence →"}</a>
          )}
        </dd>
      </div>
      <div>
        <dt>What to do</dt>
        <dd>
          {finding === undefined ? (
            <span className="dim">
              {can.doctor
                ? "Start an examination in the view Doctor. It only reads, half a minute for each cluster."
                : "Examine the cluster: lockstep doctor --context NAME."}
            </span>
          ) : (
            <>
              <CopyBox text={finding.fix.change} />
              <span className="dim">
                in {finding.fix.component}
                {finding.cluster !== null && ` of cluster ${finding.cluster}`}
                {finding.fix.effect !== null && `: ${finding.fix.effect}`}
              </span>
            </>
          )}
        </dd>
      </div>
    </dl>
  );
}

function Announced({ verdict }: { readonly verdict: Verdict }) {
  const { level, rule, text } = verdict;
  const [said, setSaid] = useState(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new figure alone is not announced.
  useEffect(() => setSaid(text), [level, rule]);
  return (
    <p className="hidden" role="status" aria-live="polite">
      {said}
    </p>
  );
}
