// How it stands with each cluster, a row each, as far as there is room: those in trouble come before
// the others only when not all can be shown, so that a row stays where it is. Pure.

import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText, shortDuration } from "../../../environment/duration-text.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import { p99Of } from "../../../timeline/percentile.ts";
import { counted } from "../../terminal/counted.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, leftText, textColumns } from "../../terminal/text-columns.ts";
import { directionNames } from "./direction-names.ts";
import { paintTone, type Tone } from "./hop-cell.ts";
import type { Picture } from "./picture.ts";

export interface ClusterRowsOptions {
  readonly width: number;
  readonly most: number;
  readonly paint: Paint;
}

const nameMost = 16;

export function clusterRows(picture: Picture, options: ClusterRowsOptions): readonly string[] {
  const { clusters } = picture;
  const { most, paint } = options;
  if (
    clusters.length === 1 &&
    clusters.every((one) => conditionOf(one, picture).tone === "plain")
  ) {
    return [];
  }
  const isAll = clusters.length <= most;
  const shown = isAll
    ? clusters
    : [...clusters]
        .sort((a, b) => trouble(b, picture) - trouble(a, picture))
        .slice(0, Math.max(0, most - 1));
  const nameColumns = Math.min(nameMost, Math.max(...shown.map(nameColumnsOf)));
  const rows = shown.map((one) => clusterRow(one, picture, { ...options, nameColumns }));
  const rest = clusters.length - shown.length;
  if (isAll || most < 1) return rows;
  const fine = clusters.filter((one) => trouble(one, picture) === 0).length;
  return [...rows, paint.secondary(`and ${rest} more clusters; up to date: ${fine} of all`)];
}

/** In words: `watching`, `unreachable for 12 s: connection refused`. */
export function conditionOf(
  { state, doubts }: ClusterStatus,
  { now }: Pick<Picture, "now">,
): { readonly text: string; readonly sign: string; readonly tone: Tone } {
  switch (state.type) {
    case "connecting":
      return { text: "connecting", sign: "◐", tone: "quiet" };
    case "listing":
      return { text: `listing, ${state.listed} of ${state.of} done`, sign: "◐", tone: "quiet" };
    case "watching": {
      const [doubt] = doubts;
      if (doubt === undefined) return { text: "watching", sign: "●", tone: "plain" };
      return { text: visible(doubt), sign: "!", tone: "late" };
    }
    case "unreachable": {
      const forMs = Math.max(0, elapsedMs(state.since, now));
      const text = `unreachable for ${durationText(wholeSeconds(forMs))}: ${visible(state.detail)}`;
      return { text, sign: "✗", tone: "failed" };
    }
    case "refused":
      return { text: `refused: ${visible(state.detail)}`, sign: "✗", tone: "failed" };
  }
}

/** A clock that shows more than seconds only makes restless. */
export function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function clusterRow(
  status: ClusterStatus,
  picture: Picture,
  { width, paint, nameColumns }: ClusterRowsOptions & { readonly nameColumns: number },
): string {
  const { text, sign, tone } = conditionOf(status, picture);
  const toned = paintTone(paint, tone);
  const name = leftText(visible(status.cluster), nameColumns);
  const room = Math.max(0, width - nameColumns - 3);
  if (tone === "late" || tone === "failed") {
    return `${toned(sign)} ${name} ${toned(cutText(withoutRequest(text, room), room))}`;
  }
  const rest = cutText(figuresText(status.cluster, text, picture), room);
  return `${tone === "plain" ? paint.lockstep(sign) : toned(sign)} ${name} ${rest}`;
}

/** `GET https://10.0.0.1:6443/api/v1/pods: `, which an error begins with. */
const request = /\b[A-Z]+ https?:\/\/\S+: /;

/** Where not all has room, why it failed says more than what was asked. */
function withoutRequest(text: string, room: number): string {
  return textColumns(text) <= room ? text : text.replace(request, "");
}

function figuresText(cluster: string, condition: string, { tally, oldest }: Picture): string {
  const own = tally.cluster(cluster);
  const ages = oldest.filter((one) => one.cluster === cluster).map(({ ageMs }) => ageMs);
  const p99 = (direction: "join" | "leave"): string => {
    const lag = own && p99Of(own.lags[direction]);
    return lag === undefined ? "" : ` · ${directionNames[direction]} p99 ${shortDuration(lag)}`;
  };
  const changes = counted(own?.changes ?? 0, "change");
  const pending = ages.length === 0 ? "" : ` · oldest ${shortDuration(Math.max(...ages))}…`;
  return `${condition}${pending} · ${changes}${p99("leave")}${p99("join")}`;
}

function trouble(status: ClusterStatus, picture: Picture): number {
  return { plain: 0, quiet: 1, late: 2, failed: 3 }[conditionOf(status, picture).tone];
}

function nameColumnsOf({ cluster }: ClusterStatus): number {
  return textColumns(visible(cluster));
}
