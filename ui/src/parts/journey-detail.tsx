// One change as a waterfall: a lane for each hop and replica, from the hop that it waits for to its own
// time. One late replica stands out.
import type { Journey } from "../../../src/server/api.ts";
import { absolute, age, count, duration } from "../format.ts";
import {
  hopNames,
  isInFlight,
  journeyPath,
  lagText,
  type Part,
  partOf,
  type Reading,
} from "../journey-path.ts";
import { lagPercent, originPercent } from "../log-axis.ts";
import { serviceHref } from "../route.ts";
import { CopyButton } from "./copy-button.tsx";
import { AxisHead, Grid } from "./journey-line.tsx";

type Hop = Journey["hops"][number];

interface Lane {
  readonly hop: Hop;
  readonly part: Part;
  readonly fromMs: number;
  readonly toMs: number | undefined;
}

/** The hop from which a part gets a change; Lockstep follows pods, the others what is published. */
const before: Readonly<Record<Part, readonly Part[]>> = {
  pod: [],
  lockstep: ["pod"],
  published: ["pod"],
  synced: ["published"],
  proxy: ["synced", "published"],
  traffic: ["lockstep", "proxy"],
};

function lanesOf(journey: Journey, reading: Reading, now: number): readonly Lane[] {
  const parts = journey.hops.map((hop) => ({ hop, part: partOf(hop, reading) }));
  const endOf = (part: Part): number | undefined => {
    const lags = parts.filter((one) => one.part === part).flatMap(({ hop }) => hop.lagMs ?? []);
    return lags.length === 0 ? undefined : Math.min(...lags);
  };
  return parts.map(({ hop, part }) => {
    const isWaiting = (hop.state === "pending" || hop.state === "stuck") && isInFlight(journey);
    const toMs = hop.lagMs ?? (isWaiting ? Math.max(0, now - journey.originMs) : undefined);
    const fromMs = before[part].map(endOf).find((end) => end !== undefined) ?? 0;
    return { hop, part, fromMs: Math.min(fromMs, toMs ?? fromMs), toMs };
  });
}

const stateText: Readonly<Record<Hop["state"], string>> = {
  shown: "",
  pending: "waiting",
  stuck: "stuck",
  unchanged: "had this state already",
  passed: "skipped: a later change came first",
  quiet: "no request was sent",
};

export function JourneyDetail({
  journey,
  reading,
  now,
}: {
  readonly journey: Journey;
  readonly reading: Reading;
  readonly now: number;
}) {
  const { level, label } = journeyPath(journey, reading, now);
  const verb = journey.direction === "join" ? "was added" : "was removed";
  return (
    <section className="panel detail" aria-label="One change">
      <h2>
        <span className="mono">
          {journey.address}:{journey.port}
        </span>{" "}
        {verb} · <a href={serviceHref(journey.service)}>{journey.service}</a>
        {journey.cluster !== null && ` in ${journey.cluster}`}
        <span className="spring" />
        <CopyButton text={window.location.href} label="copy link" />
      </h2>
      <p className={`label ${level}`}>
        {level === "fine" ? "" : level === "stuck" ? "■ " : "▲ "}
        {isInFlight(journey) ? "Waits for: " : "Slowest hop: "}
        {label}
      </p>
      <Facts journey={journey} now={now} />
      <table className="lanes">
        <caption className="hidden">The time of the change at each hop and replica</caption>
        <thead>
          <tr>
            <th scope="col">hop</th>
            <th scope="col">source</th>
            <th scope="col" className="line-cell">
              <AxisHead />
            </th>
            <th scope="col" className="number">
              lag
            </th>
          </tr>
        </thead>
        <tbody>
          {lanesOf(journey, reading, now).map((lane) => (
            <LaneRow
              key={`${lane.hop.hop} ${lane.hop.witness}`}
              lane={lane}
              journey={journey}
              slowMs={reading.slowMs}
              isModel={lane.part === "proxy" && reading.kindOf(lane.hop.witness) === "stock"}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Facts({ journey, now }: { readonly journey: Journey; readonly now: number }) {
  const { traffic, clusterBeforeOriginMs: earlier } = journey;
  const uncertain = journey.originBeforeStart
    ? "before the observation began, so lags are lower bounds"
    : journey.originNotBeforeMs !== null
      ? "known from a list, so lags are lower bounds"
      : undefined;
  return (
    <dl className="facts">
      <div>
        <dt>start</dt>
        <dd title={absolute(journey.originMs)}>
          {absolute(journey.originMs)} ({age(Math.max(0, now - journey.originMs))} ago)
          {uncertain && <span className="dim"> {uncertain}</span>}
        </dd>
      </div>
      <div>
        <dt>pod event</dt>
        <dd>{journey.cause ?? "unknown"}</dd>
      </div>
      <div>
        <dt>pod</dt>
        <dd className="mono">{journey.podName ?? "unknown"}</dd>
      </div>
      <div>
        <dt>outcome</dt>
        <dd>{isInFlight(journey) ? "in flight" : journey.outcome}</dd>
      </div>
      {earlier !== undefined && (
        <div>
          <dt>cluster time</dt>
          <dd>
            {duration(earlier.min)} to {earlier.max === null ? "unknown" : duration(earlier.max)}{" "}
            before the start
          </dd>
        </div>
      )}
      {traffic !== undefined && (
        <div>
          <dt>requests after removal</dt>
          <dd className={traffic.failed > 0 ? "label late" : ""}>
            {count(traffic.requests)}, {count(traffic.failed)} failed
          </dd>
        </div>
      )}
    </dl>
  );
}

function LaneRow({
  lane,
  journey,
  slowMs,
  isModel,
}: {
  readonly lane: Lane;
  readonly journey: Journey;
  readonly slowMs: number;
  readonly isModel: boolean;
}) {
  const { hop, part, fromMs, toMs } = lane;
  const isWaiting = hop.state === "pending" || hop.state === "stuck";
  const isSlow = part !== "traffic" && toMs !== undefined && toMs >= slowMs;
  const level = hop.state === "stuck" ? "stuck" : isSlow ? "late" : "fine";
  const text = hop.state === "shown" ? lagText(hop, journey) : stateText[hop.state];
  const shown = isWaiting && toMs !== undefined ? `${age(toMs)}, ${text}` : text;
  return (
    <tr>
      <th scope="row">{hopNames[hop.hop]}</th>
      <td className="dim">
        {hop.witness}
        {isModel && " (model)"}
      </td>
      <td className="line-cell">
        <svg
          className="line"
          height={18}
          role="img"
          aria-label={`${hopNames[hop.hop]} ${hop.witness}: ${shown}`}
        >
          <Grid />
          {toMs !== undefined && (
            <>
              <line
                className="segment before"
                x1={`${originPercent}%`}
                x2={`${lagPercent(fromMs)}%`}
                y1={9}
                y2={9}
              />
              <line
                className={`segment lane ${part} ${level} ${isWaiting ? "waiting" : ""}`}
                x1={`${lagPercent(fromMs)}%`}
                x2={`${lagPercent(toMs)}%`}
                y1={9}
                y2={9}
              />
              {!isWaiting && (
                <circle
                  className={`point ${part} ${level}`}
                  cx={`${lagPercent(toMs)}%`}
                  cy={9}
                  r={4}
                />
              )}
            </>
          )}
        </svg>
      </td>
      <td className={`number label ${level}`}>{shown}</td>
    </tr>
  );
}
