// Two counters with one denominator: requests lost by the model of the stock ingress, and by Lockstep.
import type { RequestCount } from "../../../src/server/api.ts";
import { count } from "../format.ts";

const names = { stock: "stock (model)", lockstep: "Lockstep" };

export function RequestCounters({
  sides,
  title = "Requests lost",
  children,
}: {
  readonly sides: readonly RequestCount[];
  readonly title?: string;
  readonly children?: React.ReactNode;
}) {
  const sent = sides.map(({ requests }) => requests);
  const isSame = new Set(sent).size <= 1;
  return (
    <section className="panel requests" aria-label={title}>
      <h2>
        {title}{" "}
        <em>
          {isSame && sent[0] !== undefined && `of ${count(sent[0])} sent to each side, `}
          {children}
        </em>
      </h2>
      <div className="counters">
        {sides.map(({ side, lost, requests, sentToDead }) => (
          <div key={side} className={`counter ${side} ${lost > 0 ? "lost" : ""}`} data-side={side}>
            <b>{count(lost)}</b>
            <span>{names[side]}</span>
            {!isSame && <small className="dim">of {count(requests)}</small>}
            {sentToDead !== null && (
              <small className="dim">{count(sentToDead)} sent to dead pods</small>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}
