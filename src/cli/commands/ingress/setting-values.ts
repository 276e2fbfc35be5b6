// How the texts of settings are read. Each parser says what would be right when it refuses.

import { resolve as absolute } from "node:path";
import { parseGoDuration } from "../../../environment/go-duration.ts";
import { isIp, parseNetwork } from "../../../environment/ip-address.ts";
import { SettingError } from "./setting.ts";

export function anyText(text: string): string {
  if (text === "") throw new SettingError("It must not be empty.");
  return text;
}

/** Relative to where the command was called. */
export function filePath(text: string): string {
  return absolute(anyText(text));
}

export function whole(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= from && value <= to) return value;
    throw new SettingError(`It must be a whole number from ${from} to ${to}.`);
  };
}

export const portNumber = whole(1, 65_535);

/** Also 0, for any port that is free. */
export const portOrAny = whole(0, 65_535);

export function ipAddress(text: string): string {
  if (isIp(text)) return text;
  throw new SettingError("It must be an IP address.");
}

/** `10.0.0.0/8`, or an address for itself alone. */
export function network(text: string): string {
  if (parseNetwork(text) !== undefined) return text;
  throw new SettingError("It must be an IP address or a network such as 10.0.0.0/8.");
}

export function objectName(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace, name, ...rest] = text.split("/");
  if (namespace && name && rest.length === 0) return { namespace, name };
  throw new SettingError("It must be namespace/name.");
}

/** In milliseconds: `500ms`, `5s`, `1m30s`; 0 needs no unit. */
export function duration(mostMs: number): (text: string) => number {
  return (text) => {
    const ms = parseGoDuration(text) ?? -1;
    if (ms >= 0 && ms <= mostMs) return ms;
    throw new SettingError(
      `It must be a time such as 500ms, 5s or 1m30s, up to ${longest(mostMs)}.`,
    );
  };
}

export function choice<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new SettingError(`It must be one of ${names.join(", ")}.`);
  };
}

function longest(ms: number): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${ms / 1_000}s`;
}
