// Doctor: findings with evidence and fix, causes that were ruled out, and what was not examined. The whole
// report can be copied as Markdown for the incident channel.
import { useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Doctor, State } from "../../../src/server/api.ts";
import { type ApiError, post, useAnswer } from "../api.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { FindingCard } from "../parts/finding-card.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";
import type { Route } from "../route.ts";
import type { Known } from "../store.ts";

export function DoctorView({
  known,
  state,
  route,
}: {
  readonly known: Known;
  readonly state: State;
  readonly route: Route;
}) {
  const { revisions } = known;
  const { value, error, reload } = useAnswer<Doctor>(
    state.can.doctor ? "doctor" : undefined,
    `${revisions.doctor} ${revisions.all}`,
  );
  const [problem, setProblem] = useState<ApiError>();
  const [isAsked, setAsked] = useState(false);
  if (!state.can.doctor) {
    return (
      <Notice kind="empty" title="The doctor does not run here">
        It needs a cluster to examine. Start lockstep serve with --context, or run lockstep doctor
        on saved files.
      </Notice>
    );
  }
  if (value === undefined) return <Waiting what="the findings" error={error} onRetry={reload} />;
  const isExamining = value.state === "examining" || isAsked;
  const examine = () => {
    setAsked(true);
    setProblem(undefined);
    post<Doctor>("doctor", {})
      .then(reload, setProblem)
      .finally(() => setAsked(false));
  };
  const isFresh = value.examinedAt === null && value.findings.length === 0;
  const marked = route.query.get("rule");
  return (
    <div className="stack">
      <section className="panel doctor-head" aria-label="Examination">
        <p>
          <strong>
            {isFresh
              ? "No finding yet"
              : value.findings.length === 0
                ? "No finding"
                : counted(value.findings.length, "finding")}
          </strong>{" "}
          <span className="dim">
            {value.examinedAt !== null && (
              <>
                examined <Ago at={value.examinedAt} />.{" "}
              </>
            )}
            {value.detail}
          </span>
        </p>
        <span className="spring" />
        <button type="button" className="button" onClick={examine} disabled={isExamining}>
          {isExamining ? "Examining …" : "Examine now"}
        </button>
        {value.markdown !== "" && <CopyButton text={value.markdown} label="copy as Markdown" />}
      </section>
      {value.state === "failed" && (
        <Notice kind="error" title="The examination failed" onRetry={examine}>
          {value.detail}
        </Notice>
      )}
      {problem !== undefined && (
        <Notice kind="error" title="Cannot examine now" onRetry={examine}>
          {problem.message}
        </Notice>
      )}
      {value.findings.map((finding) => (
        <FindingCard
          key={`${finding.rule} ${finding.cluster}`}
          finding={finding}
          isMarked={finding.rule === marked}
        />
      ))}
      {value.findings.length === 0 && value.examinedAt !== null && (
        <Notice kind="empty" title="The doctor found no cause of lateness">
          {counted(value.ruledOut.length, "cause was", "causes were")} examined and not found.
        </Notice>
      )}
      {isFresh && !isExamining && (
        <Notice kind="empty" title="The doctor looks when you ask">
          It reads logs, metrics and objects of the control plane, half a minute for each cluster,
          and writes nothing. It names the cause of late changes, with its evidence and the fix.
        </Notice>
      )}
      {value.examinedAt !== null && (
        <div className="two">
          <Sentences title="Ruled out" texts={value.ruledOut} empty="No cause was ruled out." />
          <Sentences
            title="Not examined"
            texts={value.notExamined}
            empty="Everything was examined."
          />
        </div>
      )}
    </div>
  );
}

function Sentences({
  title,
  texts,
  empty,
}: {
  readonly title: string;
  readonly texts: readonly string[];
  readonly empty: string;
}) {
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      {texts.length === 0 ? (
        <p className="dim">{empty}</p>
      ) : (
        <ul className="evidence">
          {texts.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
