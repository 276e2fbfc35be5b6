// Prints plans, writes and the status of `lockstep assist`.

import { type LateCounts, medianMs } from "../../../decide/assisting/late-slices.ts";
import { assistLabel } from "../../../decide/assisting/twin-names.ts";
import { describeWrite } from "../../../decide/syncing/sync-write.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { WrittenTwin } from "../../../outputs/twins/twin-keeper.ts";
import type { TwinView } from "../../../outputs/twins/twin-view.ts";
import { numberText } from "../../terminal/value-text.ts";
import type { AssistFlags } from "./command.ts";
import type { AssistStatus, TwinStatus } from "./status.ts";

/** `update EndpointSlice shop/web-lockstep-0: −1 endpoints (4 ms)` */
export function writtenLine({ write, by, tookMs }: WrittenTwin): string {
  const who = by === "standby" ? ", by the standby" : "";
  return `${describeWrite(write)} (${tookMs} ms${who})\n`;
}

/** A sentence about flags that select nothing; undefined when they select or name a Service. */
export function nothingSelected(
  view: TwinView,
  { namespace, allNamespaces }: AssistFlags,
): string | undefined {
  if ([...view.keys].length > 0 || view.problems().size > 0) return undefined;
  const places = [
    ...(allNamespaces ? ["a selector"] : []),
    ...(namespace.length > 0 ? [`a selector in the namespace ${namespace.join(", ")}`] : []),
  ];
  return `No twin is wanted: no Service has ${[`the label ${assistLabel}=true`, ...places].join(" or ")}.\n`;
}

/** One line for each Service that is selected or named and gets no twin. */
export function problemLines(view: TwinView): readonly string[] {
  return [...view.problems()].map(([service, problem]) => `no twin for ${service}: ${problem}`);
}

export function planLines(view: TwinView, cluster: string): string {
  const plans = [...view.keys].sort().map((key) => ({ key, ...view.plan(key) }));
  const lines = [
    ...plans.flatMap(({ key, writes, blocked }) => [
      ...writes.map((write) => describeWrite(write)),
      ...(blocked === undefined ? [] : [`cannot keep ${key}: ${blocked}`]),
      // The slices are planned when the Service exists, because they belong to it.
      ...(writes.some(({ type, kind }) => type === "create" && kind === "Service")
        ? [`  then its EndpointSlices: ${counted(view.plan(key).decided.size, "endpoint")}`]
        : []),
    ]),
    ...problemLines(view),
  ];
  const writes = plans.reduce((sum, plan) => sum + plan.writes.length, 0);
  const end =
    writes === 0
      ? `Nothing to write to ${cluster}: ${counted(plans.length, "twin")} up to date.`
      : `${counted(writes, "write")} to ${cluster}.`;
  return [...lines, end, ""].join("\n");
}

/** One line for each twin with writes, and for each problem. */
export function planObjects(view: TwinView): string {
  const problems = [...view.problems()].map(
    ([service, blocked]) => `${JSON.stringify({ twin: null, service, blocked, writes: [] })}\n`,
  );
  const plans = [...view.keys]
    .sort()
    .map((twin) => ({ twin, plan: view.plan(twin) }))
    .filter(({ plan }) => plan.writes.length > 0 || plan.blocked !== undefined)
    .map(({ twin, plan: { original, writes, blocked } }) =>
      JSON.stringify({ twin, service: original ?? null, blocked: blocked ?? null, writes }),
    )
    .map((line) => `${line}\n`);
  return [...plans, ...problems].join("");
}

export function statusText(status: AssistStatus): string {
  const lines = [
    ...status.leases.map(({ lease, holder, renewedAgoMs, isLive }) =>
      holder === null
        ? `Lease ${lease}: no replica leads.`
        : `Lease ${lease}: ${holder} leads, renewed ${agoText(renewedAgoMs)}${isLive ? "" : ": no replica lives"}.`,
    ),
    ...(status.twins.length === 0 ? ["There are no twins."] : []),
    ...status.twins.flatMap((twin) => ["", ...twinLines(twin)]),
    ...status.unread.map((one) => `\nNot searched for uses of twins: ${one}.`),
  ];
  return `${lines.join("\n")}\n`;
}

function twinLines(twin: TwinStatus): readonly string[] {
  const { leaves, joins } = twin;
  return [
    `${twin.twin}, twin of ${twin.service}: ${stateText(twin)}`,
    `  endpoints  ${twin.endpoints}; the Service's own slices list ${twin.published}`,
    `  used by    ${twin.usedBy === null ? "unknown" : twin.usedBy.join(", ") || "no object"}`,
    `  removals   ${lateText(leaves)}`,
    `  additions  ${lateText(joins)}`,
    `  requests   ${requestsText(twin)}`,
  ];
}

function stateText({ state }: TwinStatus): string {
  switch (state) {
    case "kept":
      return "kept by Lockstep";
    case "frozen":
      return "FROZEN: no replica lives, so its endpoints stay as they are. Run lockstep assist off";
    case "handed back":
      return "handed back, Kubernetes serves it";
    case "handing back":
      return "handed back, waiting until Kubernetes lists its endpoints";
  }
}

function lateText({ count, late, longestMs, recentMs }: LateCounts): string {
  if (count === 0) return "none counted yet";
  const median = medianMs(recentMs) ?? 0;
  return (
    `${numberText(late)} of ${numberText(count)} came more than 1 s late in the Service's own slices; ` +
    `median ${durationText(median)}, longest ${durationText(longestMs)}`
  );
}

function requestsText({ requests }: TwinStatus): string {
  if (requests === null) return "unknown: give the ingress's log with --access-log";
  const part =
    requests.windowsOutside === 0
      ? ""
      : `; ${counted(requests.windowsOutside, "late removal")} not covered by the log`;
  return `about ${numberText(requests.count)} would have reached a removed pod${part}`;
}

function agoText(ms: number | null): string {
  return ms === null ? "at an unknown time" : `${durationText(ms)} ago`;
}
