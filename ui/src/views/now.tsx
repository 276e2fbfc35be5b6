// Now: the verdict, the changes in flight, requests lost, lag by hop, freshness, findings. A newcomer
// should see within five seconds which hop is late and by how much.

import { counted } from "../../../src/environment/counted.ts";
import type { Doctor, Journey, State, Story } from "../../../src/server/api.ts";
import { useAnswer } from "../api.ts";
import { age, clockTime, count } from "../format.ts";
import { isInFlight, readingOf } from "../journey-path.ts";
import { lateSince } from "../late-since.ts";
import { useNow } from "../now.ts";
import { ClusterPanel, ReplicaPanel } from "../parts/cluster-list.tsx";
import { JourneyTable } from "../parts/journey-table.tsx";
import { LagTable } from "../parts/lag-table.tsx";
import { Notice } from "../parts/notice.tsx";
import { RequestCounters } from "../parts/request-counters.tsx";
import { VerdictBar } from "../parts/verdict-bar.tsx";
import { routeHref } from "../route.ts";
import { useSeries } from "../series.ts";
import { type Known, newestFirst } from "../store.ts";

/** As many as fit beside the panels; those in flight have precedence. */
const rowsMax = 14;
const inFlightMax = 10;

export function NowView({ known, state }: { readonly known: Known; readonly state: State }) {
  const { revisions } = known;
  const doctor = useAnswer<Doctor>(
    state.can.doctor ? "doctor" : undefined,
    `${revisions.doctor} ${revisions.all}`,
  ).value;
  const { answer } = useSeries();
  const series = answer?.series ?? [];
  const finding = doctor?.findings.find(({ rule }) => rule === state.verdict.rule);
  const others = doctor?.findings.filter((one) => one !== finding) ?? [];
  return (
    <div className="now">
      <VerdictBar state={state} finding={finding} lateSince={lateSince(known.journeys, state)} />
      {state.story !== null && <StoryStrip story={state.story} />}
      <div className="now-main">
        <ChangesPanel known={known} state={state} />
        <div className="lags">
          <LagTable state={state} direction="leave" series={series} />
          <LagTable state={state} direction="join" series={series} />
        </div>
      </div>
      <div className="now-side">
        <RequestsPanel state={state} />
        <FindingsPanel
          state={state}
          findings={others}
          unexamined={doctor?.examinedAt === null ? doctor.detail : null}
        />
        <ClusterPanel state={state} />
        <ReplicaPanel state={state} />
      </div>
    </div>
  );
}

/** All in flight up to a bound, the oldest kept; the newest others fill the rest. */
function chosen(journeys: readonly Journey[]): readonly Journey[] {
  const inFlight = journeys.filter(isInFlight).slice(-inFlightMax);
  const over = journeys.filter((journey) => !isInFlight(journey));
  return [...inFlight, ...over.slice(0, rowsMax - inFlight.length)].sort(newestFirst);
}

function ChangesPanel({ known, state }: { readonly known: Known; readonly state: State }) {
  const now = useNow();
  const rows = chosen(known.journeys);
  const oldestMs = known.journeys
    .filter(isInFlight)
    .reduce((oldest, { originMs }) => Math.max(oldest, now - originMs), 0);
  return (
    <section className="panel" aria-label="Changes">
      <h2>
        Changes{" "}
        <em>
          {state.inFlight === 0 ? "none in flight" : `${count(state.inFlight)} in flight`}
          {state.stuck > 0 && <span className="label stuck">, ■ {count(state.stuck)} stuck</span>}
          {state.inFlight > 0 && oldestMs > 0 && `, oldest ${age(oldestMs)}`};{" "}
          {counted(state.changes, "change")} in the last hour. Distance to the right is time since
          the pod changed.
        </em>
        <span className="spring" />
        <a href={routeHref(["journeys"])}>all →</a>
      </h2>
      {rows.length === 0 ? (
        <Notice kind="empty" title="No change yet">
          A row appears when a pod of a service becomes ready or leaves.{" "}
          {state.mode === "lab"
            ? "The lab replaces the pods of its shop in part 3."
            : "To see one, restart a Deployment: kubectl rollout restart deployment NAME."}
        </Notice>
      ) : (
        <JourneyTable
          journeys={rows}
          reading={readingOf(state)}
          hasStock={state.replicas.some(({ kind }) => kind === "stock")}
          now={now}
          caption="Changes in flight and the newest that are over"
        />
      )}
    </section>
  );
}

function RequestsPanel({ state }: { readonly state: State }) {
  const {
    requests: { sides, since },
    toRemoved,
  } = state;
  if (sides.length > 0) {
    return <RequestCounters sides={sides}>since {clockTime(since)}</RequestCounters>;
  }
  if (toRemoved !== null) {
    const { requests, failed } = toRemoved;
    return (
      <section className="panel requests" aria-label="Requests lost">
        <h2>
          Requests lost <em>sent to removed pods, by the access logs</em>
        </h2>
        <div className={`counter ${failed > 0 ? "lost" : ""}`} data-side="access-logs">
          <b>{count(failed)}</b>
          <span>failed</span>
          <small className="dim">of {count(requests)} to pods that had left</small>
        </div>
      </section>
    );
  }
  return (
    <section className="panel requests" aria-label="Requests lost">
      <h2>Requests lost</h2>
      <p className="dim">
        {state.mode === "lab"
          ? "They are counted when the traffic of the lab starts. Without nginx it has none."
          : "Not counted: no access log is read. Start with --access-log FILE to count them."}
      </p>
    </section>
  );
}

/** Those that the verdict does not name. */
function FindingsPanel({
  state,
  findings,
  unexamined,
}: {
  readonly state: State;
  readonly findings: Doctor["findings"];
  /** Why there is no result yet; null when there is one. */
  readonly unexamined: string | null;
}) {
  if (findings.length === 0 && state.verdict.rule !== null) return null;
  return (
    <section className="panel" aria-label="Findings">
      <h2>
        {state.verdict.rule === null ? "Findings" : "Other findings"}{" "}
        <em>{counted(findings.length, "finding")}</em>
        <span className="spring" />
        {state.can.doctor && <a href={routeHref(["doctor"])}>doctor →</a>}
      </h2>
      {findings.length === 0 && (
        <p className="dim">
          {!state.can.doctor
            ? "The doctor does not run here."
            : (unexamined ?? "The doctor found no cause of lateness.")}
        </p>
      )}
      <ul className="plain">
        {findings.map(({ rule, cause, severity, cluster }) => (
          <li key={`${rule} ${cluster}`}>
            <span
              className={`label ${severity === "critical" ? "stuck" : severity === "warning" ? "late" : ""}`}
            >
              {severity === "critical" ? "■" : severity === "warning" ? "▲" : "○"}
            </span>{" "}
            <a href={routeHref(["doctor"], new URLSearchParams({ rule }))}>{cause}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const lastAct = 4;

function StoryStrip({ story }: { readonly story: Story }) {
  const { act, title, step, seconds, isSimulated, checks } = story;
  const isOver = act > lastAct;
  return (
    <section className="panel story" aria-label="The demonstration">
      <p>
        <span className="acts" aria-hidden="true">
          {[1, 2, 3, 4].map((one) => (
            <i key={one} className={one < act ? "done" : one === act ? "on" : ""} />
          ))}
        </span>
        <strong>
          {isOver ? `The demonstration is over. ${title}.` : `Part ${act} of ${lastAct}: ${title}`}
        </strong>
        {seconds !== null && (
          <span className="dim">
            {" "}
            {age(seconds * 1000)}
            {isSimulated && " of simulated time"}
          </span>
        )}
        <span className="story-step dim"> {step}</span>
      </p>
      {checks.length > 0 && (
        <ul className="checks">
          {checks.map(({ text, goal, holds }) => (
            <li key={text} className={holds ? "" : "label late"}>
              <span className={holds ? "check-ok" : ""}>{holds ? "✓" : "✗"}</span> {text}{" "}
              <span className="dim">(goal: {goal})</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
