// Changes as a table: one row each, the line on the time axis, and the late hop in words. New rows enter
// at the top. While the pointer or the focus is in the table no row moves; new ones are counted instead.
import { useRef, useState } from "react";
import { counted } from "../../../src/environment/counted.ts";
import type { Journey } from "../../../src/server/api.ts";
import { absolute, ago } from "../format.ts";
import { journeyPath, type Reading } from "../journey-path.ts";
import { routeHref, serviceHref } from "../route.ts";
import { AxisHead, JourneyLine, Legend, partsOf } from "./journey-line.tsx";

interface JourneyTableProps {
  /** Newest first. */
  readonly journeys: readonly Journey[];
  readonly reading: Reading;
  readonly hasStock: boolean;
  readonly now: number;
  readonly caption: string;
  /** The one whose detail is shown. */
  readonly selected?: string | undefined;
  readonly hrefOf?: (journey: Journey) => string;
}

export function journeyHref(journey: Journey, query = new URLSearchParams()): string {
  return routeHref(["journeys", journey.id], query);
}

/** The list with which the reader began to look, with the newest state of each row. */
function useSteady(journeys: readonly Journey[]): {
  readonly shown: readonly Journey[];
  readonly hidden: number;
  readonly hold: () => void;
  readonly release: () => void;
} {
  const held = useRef<readonly Journey[]>(journeys);
  const [isHeld, setHeld] = useState(false);
  if (!isHeld) {
    held.current = journeys;
    return { shown: journeys, hidden: 0, hold: () => setHeld(true), release: () => setHeld(false) };
  }
  const newest = new Map(journeys.map((journey) => [journey.id, journey]));
  const shown = held.current.map((journey) => newest.get(journey.id) ?? journey);
  held.current = shown;
  const known = new Set(shown.map(({ id }) => id));
  const hidden = journeys.filter(({ id }) => !known.has(id)).length;
  return { shown, hidden, hold: () => setHeld(true), release: () => setHeld(false) };
}

export function JourneyTable(props: JourneyTableProps) {
  const { reading, now, caption, selected, hasStock, hrefOf = journeyHref } = props;
  const { shown, hidden, hold, release } = useSteady(props.journeys);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notices where the reader is.
    <div
      className="journeys"
      onPointerEnter={hold}
      onPointerLeave={(event) => {
        if (!event.currentTarget.contains(document.activeElement)) release();
      }}
      onFocus={hold}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) release();
      }}
    >
      {hidden > 0 && (
        <p className="held dim">
          {counted(hidden, "new change")} above; the rows stay while you are here
        </p>
      )}
      <table className="journey-table">
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">endpoint</th>
            <th scope="col">service</th>
            <th scope="col" className="wide-only">
              pod event
            </th>
            <th scope="col" className="line-cell">
              <AxisHead />
            </th>
            <th scope="col">slowest hop</th>
            <th scope="col" className="number">
              started
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((journey) => (
            <Row
              key={journey.id}
              journey={journey}
              reading={reading}
              now={now}
              href={hrefOf(journey)}
              isSelected={journey.id === selected}
            />
          ))}
        </tbody>
      </table>
      <Legend parts={partsOf(shown, reading, now)} hasStock={hasStock} />
    </div>
  );
}

function Row({
  journey,
  reading,
  now,
  href,
  isSelected,
}: {
  readonly journey: Journey;
  readonly reading: Reading;
  readonly now: number;
  readonly href: string;
  readonly isSelected: boolean;
}) {
  const { label, level } = journeyPath(journey, reading, now);
  const isJoin = journey.direction === "join";
  return (
    <tr className={isSelected ? "selected" : ""} data-journey={journey.id}>
      <th scope="row" className="endpoint">
        <a href={href} data-row aria-current={isSelected ? "true" : undefined}>
          <span className="sign" title={isJoin ? "added" : "removed"}>
            <span aria-hidden="true">{isJoin ? "+" : "−"}</span>
            <span className="hidden">{isJoin ? "added" : "removed"} </span>
          </span>
          {journey.address}
        </a>
        {journey.cluster !== null && <span className="dim cluster"> {journey.cluster}</span>}
      </th>
      <td className="service">
        <a href={serviceHref(journey.service)}>{journey.service}</a>
      </td>
      <td className="dim wide-only">{journey.cause ?? "unknown"}</td>
      <td className="line-cell">
        <JourneyLine journey={journey} reading={reading} now={now} />
      </td>
      <td className={`label ${level}`} title={label}>
        {level !== "fine" && <span aria-hidden="true">{level === "stuck" ? "■ " : "▲ "}</span>}
        {label}
      </td>
      <td className="number dim" title={absolute(journey.originMs)}>
        {ago(journey.originMs, now)}
      </td>
    </tr>
  );
}
