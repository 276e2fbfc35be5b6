// Incidents (lab only): start one of the five, watch the fault, the lag, the requests that each side
// loses, the finding and the fix.
import { useState } from "react";
import type { IncidentAction, Incidents, State } from "../../../src/server/api.ts";
import { type ApiError, post, useAnswer } from "../api.ts";
import { clockTime, duration } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { FindingCard } from "../parts/finding-card.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { RequestCounters } from "../parts/request-counters.tsx";
import { Ago } from "../parts/time.tsx";
import { WideTable } from "../parts/wide-table.tsx";
import type { Known } from "../store.ts";
import { chartsOf } from "./control-plane.tsx";

type Running = NonNullable<Incidents["running"]>;

const phases = ["starting", "fault", "cause named", "fix", "fixed"] as const;

/** The doctor may name the cause while the fault goes on. */
function phaseText({ phase, finding }: Running): (typeof phases)[number] | undefined {
  switch (phase) {
    case "starting":
    case "fixed":
      return phase;
    case "fault":
    case "examining":
      return finding === null ? "fault" : "cause named";
    case "fixing":
      return "fix";
    case "ended":
    case "failed":
      return undefined;
  }
}

export function IncidentsView({
  known,
  state,
  onTour,
}: {
  readonly known: Known;
  readonly state: State;
  readonly onTour: () => void;
}) {
  const { revisions } = known;
  const { value, error, reload } = useAnswer<Incidents>(
    state.can.incidents ? "incidents" : undefined,
    `${revisions.incident} ${revisions.all}`,
  );
  const [problem, setProblem] = useState<ApiError>();
  if (!state.can.incidents) {
    return (
      <Notice kind="empty" title="Incidents run in the lab only">
        This page shows real clusters, and Lockstep only reads them. Run lockstep up for the lab.
      </Notice>
    );
  }
  if (value === undefined) return <Waiting what="the incidents" error={error} onRetry={reload} />;
  const act = (action: IncidentAction["action"], name: string) => {
    setProblem(undefined);
    post<Incidents>("incidents", { action, name } satisfies IncidentAction).then(
      reload,
      setProblem,
    );
  };
  const { running } = value;
  const isActive = running !== null && running.phase !== "ended" && running.phase !== "failed";
  return (
    <div className="stack">
      {problem !== undefined && (
        <Notice kind="error" title="The lab refused">
          {problem.message}
        </Notice>
      )}
      {running !== null && <RunningPanel running={running} act={act} />}
      <section className="panel" aria-label="The five incidents">
        <h2>
          Incidents <em>reproduced in the lab from published write-ups</em>
          <span className="spring" />
          <button type="button" className="button" onClick={onTour}>
            One-minute tour
          </button>
        </h2>
        <ul className="incident-list">
          {value.incidents.map(({ name, summary, cause, fix, isSimulated }) => (
            <li key={name} className={running?.name === name ? "on" : ""} data-incident={name}>
              <h3>{name}</h3>
              <p className="dim">{isSimulated ? "in simulated time" : "in the running clusters"}</p>
              <p>{summary}</p>
              <details>
                <summary>cause and fix</summary>
                <p>
                  <strong>Cause:</strong> {cause}
                </p>
                <p>
                  <strong>Fix:</strong> {fix}
                </p>
              </details>
              <button
                type="button"
                className="button"
                data-row
                disabled={isActive}
                onClick={() => act("start", name)}
              >
                Start
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function RunningPanel({
  running,
  act,
}: {
  readonly running: Running;
  readonly act: (action: IncidentAction["action"], name: string) => void;
}) {
  const { name, phase, startedAt, isSimulated, steps, requests, finding, namedAfterMs } = running;
  const isOver = phase === "ended" || phase === "failed";
  const range = timesOf(running.charts);
  return (
    <>
      <section className="panel running" aria-label="The running incident" data-phase={phase}>
        <h2>
          {name}{" "}
          <em>
            started <Ago at={startedAt} />
            {isSimulated && " · simulated time"}
            {namedAfterMs !== null && ` · cause named ${duration(namedAfterMs)} after the fault`}
          </em>
          <span className="spring" />
          {!isOver && (
            <>
              <button
                type="button"
                className="button main"
                disabled={finding === null || phase === "fixing" || phase === "fixed"}
                onClick={() => act("fix", name)}
              >
                Apply the fix
              </button>
              <button type="button" className="button" onClick={() => act("stop", name)}>
                Stop
              </button>
            </>
          )}
        </h2>
        <Phases running={running} />
        <ol className="steps" aria-live="polite">
          {steps.slice(-8).map(({ at, text }) => (
            <li key={`${at} ${text}`}>
              <span className="dim mono">{clockTime(at)}</span> {text}
            </li>
          ))}
        </ol>
      </section>
      <div className="two">
        {requests.length > 0 && (
          <RequestCounters sides={requests}>in this incident</RequestCounters>
        )}
        <Measures running={running} />
      </div>
      {finding !== null && <FindingCard finding={finding} />}
      {running.charts.length > 0 && (
        <div className="charts">
          {chartsOf(running.charts).map(({ id, title, series }) => (
            <section key={id} className="panel">
              <Chart title={title} series={series} group="incident" {...range} />
            </section>
          ))}
        </div>
      )}
    </>
  );
}

/** Of all charts, so that cause and effect line up. */
function timesOf(charts: Running["charts"]): { readonly from?: number; readonly to?: number } {
  const ends = charts.flatMap(({ points }) => [points.at(0), points.at(-1)]);
  const times = ends.flatMap((point) => point?.[0] ?? []);
  return times.length === 0 ? {} : { from: Math.min(...times), to: Math.max(...times) };
}

function Phases({ running }: { readonly running: Running }) {
  const text = phaseText(running);
  if (text === undefined) {
    const isFailed = running.phase === "failed";
    return <p className={isFailed ? "label stuck" : "dim"}>{isFailed ? "■ failed" : "ended"}</p>;
  }
  const current = phases.indexOf(text);
  return (
    <ol className="phases" aria-label="Phase of the incident">
      {phases.map((name, place) => (
        <li
          key={name}
          className={place < current ? "done" : place === current ? "on" : ""}
          aria-current={place === current ? "step" : undefined}
        >
          {place < current ? "✓ " : ""}
          {name}
        </li>
      ))}
    </ol>
  );
}

function Measures({ running }: { readonly running: Running }) {
  if (running.measures.length === 0) return null;
  return (
    <section className="panel" aria-label="Measured">
      <h2>Measured</h2>
      <WideTable label="Table: measured">
        <table className="figures roomy">
          <caption className="hidden">Stock and Lockstep side by side</caption>
          <thead>
            <tr>
              <th scope="col">figure</th>
              <th scope="col">stock (model)</th>
              <th scope="col">Lockstep</th>
              <th scope="col">goal</th>
            </tr>
          </thead>
          <tbody>
            {running.measures.map(({ text, stock, lockstep, goal, held }) => (
              <tr key={text}>
                <th scope="row">{text}</th>
                <td>{stock ?? "–"}</td>
                <td className="lockstep">{lockstep ?? "–"}</td>
                <td className={held ? "" : "late"}>
                  {goal === null && held ? "–" : `${held ? "✓" : "✗"} ${goal ?? ""}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </WideTable>
    </section>
  );
}
