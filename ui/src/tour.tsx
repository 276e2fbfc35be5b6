// The guided tour: one incident from the fault to the fix in about a minute. Each step shows a view, says
// what to look at, and goes on when the lab has got there.
import { useEffect, useState } from "react";
import type { IncidentAction, Incidents } from "../../src/server/api.ts";
import { type ApiError, post, useAnswer } from "./api.ts";
import { count } from "./format.ts";
import { go, routeHref } from "./route.ts";
import type { Known } from "./store.ts";

type Running = NonNullable<Incidents["running"]>;

/** It runs on the real proxies and the real traffic of the lab. */
const incident = "throttled-controller";

interface Step {
  readonly path: readonly string[];
  readonly title: string;
  readonly text: (running: Running | null) => string;
  readonly isReached: (running: Running | null) => boolean;
  /** Sent to the lab when the step begins. */
  readonly action?: IncidentAction["action"];
}

const has = (running: Running | null, ...phases: readonly Running["phase"][]): boolean =>
  running !== null && running.name === incident && phases.includes(running.phase);

const steps: readonly Step[] = [
  {
    path: ["incidents"],
    title: "The fault",
    text: () =>
      "A controller manager may send only a few requests a second. A release replaces pods meanwhile.",
    isReached: (running) => has(running, "fault", "examining", "fixing", "fixed"),
    action: "start",
  },
  {
    path: ["now"],
    title: "The path of each change",
    text: () =>
      "Each line is one pod that joins or leaves. Blue: Lockstep's replicas have it within milliseconds. " +
      "Dashed: EndpointSlices do not have it yet, and the stock ingress waits for them.",
    isReached: (running) => running?.finding != null,
  },
  {
    path: ["doctor"],
    title: "The cause",
    text: () =>
      "The doctor names the cause from logs and metrics, with its evidence and the flags to set.",
    isReached: (running) => running?.finding != null,
  },
  {
    path: ["control-plane"],
    title: "The fix",
    text: () =>
      "The flags of the finding are applied. The queue of the controller drains, and changes become short.",
    isReached: (running) => has(running, "fixed", "ended"),
    action: "fix",
  },
  {
    path: ["incidents"],
    title: "The count",
    text: (running) => {
      const lost = (side: "stock" | "lockstep") =>
        count(running?.requests.find((one) => one.side === side)?.lost ?? 0);
      return `Requests lost in this incident: stock (model) ${lost("stock")}, Lockstep ${lost("lockstep")}.`;
    },
    isReached: () => true,
  },
];

/** Long enough to read two sentences and look at the view. */
const readingMs = 9_000;

export function Tour({ known, onEnd }: { readonly known: Known; readonly onEnd: () => void }) {
  const [place, setPlace] = useState(0);
  const [hasRead, setRead] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  const { revisions } = known;
  const { value } = useAnswer<Incidents>(
    "incidents",
    `${revisions.incident} ${revisions.all} ${place}`,
  );
  const running = value?.running ?? null;
  const step = steps[place];
  const isLast = place === steps.length - 1;
  const isReached = step?.isReached(running) ?? true;
  useEffect(() => {
    const entered = steps[place];
    if (entered === undefined) return;
    go(routeHref(entered.path));
    setRead(false);
    if (entered.action !== undefined) {
      post<Incidents>("incidents", { action: entered.action, name: incident }).then(
        () => setProblem(undefined),
        setProblem,
      );
    }
    const timer = setTimeout(() => setRead(true), readingMs);
    return () => clearTimeout(timer);
  }, [place]);
  const shouldGoOn = isReached && hasRead && !isLast;
  useEffect(() => {
    if (shouldGoOn) setPlace((before) => before + 1);
  }, [shouldGoOn]);
  if (step === undefined) return null;
  const end = () => {
    if (running !== null)
      void post("incidents", { action: "stop", name: running.name }).catch(() => undefined);
    onEnd();
  };
  return (
    <aside className="tour" aria-label="Guided tour">
      <p aria-live="polite">
        <strong>
          {place + 1} of {steps.length} · {step.title}
        </strong>{" "}
        {step.text(running)}
        {problem !== undefined && <span className="label late"> {problem.message}</span>}
      </p>
      <span className="spring" />
      {!isLast && (
        <button
          type="button"
          className="button main"
          disabled={!isReached}
          onClick={() => setPlace(place + 1)}
        >
          {isReached ? "Next" : "the lab is working …"}
        </button>
      )}
      <button type="button" className="button" onClick={end}>
        {isLast ? "End" : "Leave"}
      </button>
    </aside>
  );
}
