// The verdict: one sentence, how sure it is, since when, and the fix to copy. A screen reader says a new
// verdict, not every new figure of it.
import { useEffect, useState } from "react";
import type { Finding, Verdict } from "../../../src/server/api.ts";
import { routeHref } from "../route.ts";
import { CopyBox } from "./copy-button.tsx";
import { Since } from "./time.tsx";

const words: Readonly<Record<Verdict["level"], string>> = {
  ok: "● In step",
  late: "▲ Late",
  lost: "■ Requests lost",
  unknown: "? Not known",
};

export function VerdictBar({
  verdict,
  finding,
  lateSince,
}: {
  readonly verdict: Verdict;
  /** The one that explains it. */
  readonly finding: Finding | undefined;
  /** The start of the oldest change that waits for too long. */
  readonly lateSince: number | undefined;
}) {
  return (
    <section className={`panel verdict verdict-${verdict.level}`} aria-label="Verdict">
      <p className="verdict-text">
        <span className={`badge ${verdict.level}`}>{words[verdict.level]}</span> {verdict.text}
      </p>
      {(verdict.confidence !== null || finding !== undefined || lateSince !== undefined) && (
        <p className="dim verdict-facts">
          {lateSince !== undefined && (
            <span>
              <Since at={lateSince} word="late since" />
            </span>
          )}
          {verdict.confidence !== null && <span>{verdict.confidence}</span>}
          {finding !== undefined && (
            <span>
              <Since at={finding.since} word="cause found" />
            </span>
          )}
          <a href={routeHref(["doctor"], ruleQuery(verdict.rule))}>evidence and fix →</a>
        </p>
      )}
      {finding !== undefined && (
        <CopyBox
          text={finding.fix.change}
          note={`# fix, in ${finding.fix.component}${finding.fix.effect === null ? "" : `: ${finding.fix.effect}`}`}
        />
      )}
      <Announced verdict={verdict} />
    </section>
  );
}

function ruleQuery(rule: string | null): URLSearchParams {
  return new URLSearchParams(rule === null ? [] : [["rule", rule]]);
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
