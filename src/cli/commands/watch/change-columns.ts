// Where the columns of the lines are. They depend on the width of the terminal, the hops that
// anybody reports and the names of the clusters only, so lines stand below each other, and the head
// says what each column is. What does not fit gives way in a fixed order: the path, the cause, the
// cluster, and at last letters of the service's name. Pure.
import type { Hop } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, leftText, rightText, textColumns } from "../../terminal/text-columns.ts";
import { type HopCell, paintTone } from "./hop-cell.ts";
import { pathColumns, pathScale } from "./lag-path.ts";

export interface ChangeColumns {
  readonly hops: readonly Hop[];
  readonly clusterColumns: number;
  /** Of address and service together: a long address takes from the service. */
  readonly nameColumns: number;
  readonly causeColumns: number;
  readonly hasPath: boolean;
}

export interface ColumnsAsked {
  readonly width: number;
  readonly hops: readonly Hop[];
  /** No cluster column unless there are several. */
  readonly clusters: readonly string[];
}

/** A line as its texts, before it is put into columns. */
export interface ChangeRow {
  readonly time: string;
  readonly cluster: string;
  /** `−10.0.0.1`. */
  readonly subject: string;
  readonly service: string;
  readonly cause: string;
  /** One for each of the columns' hops. */
  readonly cells: readonly HopCell[];
  /** As wide as it likes; it is the last. */
  readonly path: string;
}

const timeColumns = 8;
/** `published` and a space before it. */
const hopColumns = 10;
/** A sign and an IPv4 address. */
const subjectColumns = 16;
/** A shorter piece of a name says nothing any more. */
const serviceLeast = 8;
/** Most names are no longer, with their namespace. */
const serviceUsual = 16;
const serviceMost = 40;
/** `terminating`, which is the most frequent one. */
const causeUsual = 11;
/** `service deleted`, which is the longest; where there is room for the path too. */
const causeMost = 15;
const clusterMost = 16;

export function changeColumns({ width, hops, clusters }: ColumnsAsked): ChangeColumns {
  const longest = Math.max("cluster".length, ...clusters.map(textColumns));
  const clusterWanted = clusters.length > 1 ? Math.min(longest, clusterMost) : 0;
  let left =
    width - timeColumns - hops.length * hopColumns - 1 - (subjectColumns + serviceLeast + 1);
  const take = (wanted: number, least: number): number => {
    const given = Math.min(wanted, left - 1);
    if (given < least) return 0;
    left -= given + 1;
    return given;
  };
  const clusterColumns = clusterWanted === 0 ? 0 : take(clusterWanted, 4);
  const causeTaken = take(causeUsual, 5);
  const serviceWanted = take(serviceUsual - serviceLeast, 0);
  const pathTaken = take(pathColumns, pathColumns);
  const causeMore = pathTaken > 0 ? take(causeMost - causeUsual, 1) : 0;
  const serviceColumns = serviceLeast + serviceWanted + take(serviceMost - serviceUsual, 0);
  return {
    hops,
    clusterColumns,
    nameColumns: Math.max(0, subjectColumns + 1 + serviceColumns + Math.min(0, left)),
    causeColumns: causeTaken + causeMore,
    hasPath: pathTaken > 0,
  };
}

export function headLine(columns: ChangeColumns, { secondary }: Paint): string {
  const row = {
    time: "time",
    cluster: "cluster",
    subject: "endpoint",
    service: "service",
    cause: "cause",
    cells: columns.hops.map((hop): HopCell => ({ text: hop, tone: "plain" })),
    path: pathScale(),
  };
  return secondary(rowLine(row, columns, undefined));
}

/** Without paint it has no colour of its own, to be painted as a whole. */
export function rowLine(row: ChangeRow, columns: ChangeColumns, paint: Paint | undefined): string {
  const { clusterColumns, causeColumns, nameColumns, hasPath } = columns;
  const cells = row.cells.map(({ text, tone }) => {
    const cell = rightText(text, hopColumns - 1);
    return ` ${paint === undefined ? cell : paintTone(paint, tone)(cell)}`;
  });
  const quiet = (text: string) => paint?.secondary(text) ?? text;
  const line = [
    quiet(leftText(row.time, timeColumns)),
    ...(clusterColumns === 0 ? [] : [leftText(row.cluster, clusterColumns)]),
    nameText(row, nameColumns),
    ...(causeColumns === 0 ? [] : [quiet(leftText(row.cause, causeColumns))]),
  ].join(" ");
  return (line + cells.join("") + (hasPath ? `  ${row.path}` : "")).trimEnd();
}

/** Without its namespace if that is enough to make the service fit. */
function nameText({ subject, service }: ChangeRow, columns: number): string {
  const start = cutText(subject, columns).padEnd(Math.min(subjectColumns, columns));
  const room = columns - textColumns(start) - 1;
  if (room < 1) return leftText(start, columns);
  const isTooLong = textColumns(service) > room;
  const name = isTooLong ? service.slice(service.indexOf("/") + 1) : service;
  return `${start} ${leftText(name, room)}`;
}
