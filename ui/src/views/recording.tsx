// A recording that was dropped onto the page: its changes as they were at a time, with a slider over the
// whole recording. Nothing is kept on the server.
import { useEffect, useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Recording } from "../../../src/server/api.ts";
import { type ApiError, postFile } from "../api.ts";
import { absolute, clockTime, duration } from "../format.ts";
import { isInFlight, journeyAt, readingOf } from "../journey-path.ts";
import { JourneyDetail } from "../parts/journey-detail.tsx";
import { JourneyTable } from "../parts/journey-table.tsx";
import { Notice } from "../parts/notice.tsx";
import { type Route, routeHref } from "../route.ts";
import { newestFirst } from "../store.ts";

const rowsMax = 60;
/** Steps of the slider; fine enough for a wide screen. */
const sliderSteps = 2_000;
/** A recording is played in about this time, whatever its length. */
const playMs = 30_000;
const frameMs = 100;

export function RecordingView({
  file,
  route,
  slowMs,
}: {
  readonly file: File;
  readonly route: Route;
  readonly slowMs: number;
}) {
  const [recording, setRecording] = useState<Recording>();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    const ending = new AbortController();
    setRecording(undefined);
    setError(undefined);
    postFile<Recording>("recordings", file, ending.signal).then(
      setRecording,
      (problem: ApiError) => {
        if (!ending.signal.aborted) setError(problem);
      },
    );
    return () => ending.abort();
  }, [file]);
  if (error !== undefined) {
    return (
      <Notice kind="error" title={`Cannot read ${file.name}`}>
        {error.message} A recording is a file that lockstep record wrote.{" "}
        <a href={routeHref(["journeys"])}>Back to the live list</a>
      </Notice>
    );
  }
  if (recording === undefined) {
    return (
      <Notice kind="loading" title={`Replaying ${file.name}`}>
        The server reads the recording.
      </Notice>
    );
  }
  return <Scrubber name={file.name} recording={recording} id={route.path[1]} slowMs={slowMs} />;
}

function Scrubber({
  name,
  recording,
  id,
  slowMs,
}: {
  readonly name: string;
  readonly recording: Recording;
  readonly id: string | undefined;
  readonly slowMs: number;
}) {
  const { from, to, journeys, clusters, leftOut, notes } = recording;
  const [at, setAt] = useState(to);
  const [isPlaying, setPlaying] = useState(false);
  const lengthMs = Math.max(to - from, 1);
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setInterval(
      () => setAt((before) => before + lengthMs * (frameMs / playMs)),
      frameMs,
    );
    return () => clearInterval(timer);
  }, [isPlaying, lengthMs]);
  const shownAt = Math.min(at, to);
  if (isPlaying && at >= to) setPlaying(false);
  const reading = readingOf({ slowMs });
  const then = journeys.flatMap((journey) => journeyAt(journey, shownAt) ?? []);
  const inFlight = then.filter(isInFlight);
  const rows = [...then].sort(newestFirst).slice(0, rowsMax);
  const chosen = then.find((journey) => journey.id === id);
  return (
    <div className="stack">
      <section className="panel" aria-label="Recording">
        <h2>
          Recording {name}{" "}
          <em>
            {clusters.join(", ")}; {counted(journeys.length, "change")} in {duration(lengthMs)}
            {leftOut > 0 && `; ${counted(leftOut, "older change")} left out`}
          </em>
          <span className="spring" />
          <a href={routeHref(["journeys"])}>close</a>
        </h2>
        <div className="scrub">
          <button
            type="button"
            className="small-button"
            onClick={() => {
              if (at >= to) setAt(from);
              setPlaying(!isPlaying);
            }}
          >
            {isPlaying ? "pause" : "play"}
          </button>
          <input
            type="range"
            aria-label="time in the recording"
            aria-valuetext={clockTime(shownAt)}
            min={0}
            max={sliderSteps}
            value={Math.round(((shownAt - from) / lengthMs) * sliderSteps)}
            onChange={({ target }) => {
              setPlaying(false);
              setAt(from + (Number(target.value) / sliderSteps) * lengthMs);
            }}
          />
          <output title={absolute(shownAt)}>
            {clockTime(shownAt)} · {duration(shownAt - from)} after the start · {inFlight.length} in
            flight
          </output>
        </div>
        {notes.map((note) => (
          <p key={note} className="doubt">
            {note}
          </p>
        ))}
      </section>
      {chosen !== undefined && <JourneyDetail journey={chosen} reading={reading} now={shownAt} />}
      <section className="panel" aria-label="Changes of the recording">
        {rows.length === 0 ? (
          <Notice kind="empty" title="No change until this time">
            Move the slider to the right.
          </Notice>
        ) : (
          <JourneyTable
            journeys={rows}
            reading={reading}
            hasStock={journeys.some(({ hops }) =>
              hops.some(({ witness }) => reading.kindOf(witness) === "stock"),
            )}
            now={shownAt}
            caption="Changes of the recording at the chosen time"
            selected={id}
            hrefOf={(journey) => routeHref(["recording", journey.id])}
          />
        )}
      </section>
    </div>
  );
}
