// Conversions between types, and sizes.
import { parseGoNanos } from "../../../../environment/go-duration.ts";
import { runes } from "../../runes.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import {
  CelError,
  Duration,
  type ListValue,
  type MapValue,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
  type Value,
} from "../values.ts";
import { byTexts } from "./costs.ts";
import { formatTimestamp, parseTimestamp } from "./timestamps.ts";

const int64Max = 2n ** 63n - 1n;
const uint64Max = 2n ** 64n - 1n;
const nanosPerSecond = 1_000_000_000n;

export const conversions: readonly Overload[] = [
  define("dyn(A) dyn", (value: Value) => value),
  define("type(A) type", (value: Value) => new TypeValue(typeNameOf(value))),
  define("int(int) int", (value: bigint) => value),
  define("int(uint) int", (value: Uint) => intOf(value.value)),
  define("int(double) int", (value: number) => doubleToInt(value)),
  define("int(string) int", (text: string) => textToInt(text), byTexts),
  define("int(timestamp) int", (time: Timestamp) => time.nanos / nanosPerSecond),
  define("int(duration) int", (duration: Duration) => duration.nanos),
  define("uint(uint) uint", (value: Uint) => value),
  define("uint(int) uint", (value: bigint) => uintOf(value)),
  define("uint(double) uint", (value: number) => uintOf(doubleToInt(value))),
  define("uint(string) uint", (text: string) => textToUint(text), byTexts),
  define("double(double) double", (value: number) => value),
  define("double(int) double", (value: bigint) => Number(value)),
  define("double(uint) double", (value: Uint) => Number(value.value)),
  define("double(string) double", (text: string) => textToDouble(text), byTexts),
  define("string(string) string", (text: string) => text),
  define("string(int) string", (value: bigint) => String(value)),
  define("string(uint) string", (value: Uint) => String(value.value)),
  define("string(double) string", (value: number) => String(value)),
  define("string(bool) string", (value: boolean) => String(value)),
  define("string(bytes) string", bytesToText),
  define("string(timestamp) string", (time: Timestamp) => formatTimestamp(time.nanos)),
  define("string(duration) string", String),
  define("bool(bool) bool", (value: boolean) => value),
  define("bool(string) bool", textToBool),
  define("bytes(bytes) bytes", (bytes: Uint8Array) => bytes),
  define("bytes(string) bytes", (text: string) => Buffer.from(text, "utf8"), byTexts),
  define("timestamp(timestamp) timestamp", (time: Timestamp) => time),
  define("timestamp(string) timestamp", (text: string) => new Timestamp(parseTimestamp(text))),
  define("timestamp(int) timestamp", (seconds: bigint) => new Timestamp(seconds * nanosPerSecond)),
  define("duration(duration) duration", (duration: Duration) => duration),
  define("duration(string) duration", textToDuration),
  define("duration(int) duration", (nanos: bigint) => new Duration(nanos)),
  ...sizes(define),
  ...sizes(defineMethod),
];

/** `size(x)` and `x.size()` */
function sizes(make: typeof define): readonly Overload[] {
  return [
    make("size(string) int", (text: string) => BigInt(runes(text).length), byTexts),
    make("size(bytes) int", (bytes: Uint8Array) => BigInt(bytes.length)),
    make("size(list(A)) int", (list: ListValue) => BigInt(list.items.length)),
    make("size(map(A, B)) int", (map: MapValue) => BigInt(map.entries.size)),
  ];
}

function intOf(value: bigint): bigint {
  if (value > int64Max || value < -int64Max - 1n) throw new CelError("integer overflow");
  return value;
}

function uintOf(value: bigint): Uint {
  if (value < 0n || value > uint64Max) throw new CelError("unsigned integer overflow");
  return new Uint(value);
}

function doubleToInt(value: number): bigint {
  if (!Number.isFinite(value)) throw new CelError("integer overflow");
  return intOf(BigInt(Math.trunc(value)));
}

function textToInt(text: string): bigint {
  if (/^[+-]?\d+$/.test(text)) return intOf(BigInt(text.replace(/^\+/, "")));
  throw unconvertible("int");
}

function textToUint(text: string): Uint {
  if (/^\d+$/.test(text)) return uintOf(BigInt(text));
  throw unconvertible("uint");
}

function textToDouble(text: string): number {
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return Number(text);
  const special = { inf: Infinity, "+inf": Infinity, "-inf": -Infinity, nan: Number.NaN };
  const found = Object.entries(special).find(([name]) => name === text.toLowerCase());
  if (found !== undefined) return found[1];
  throw unconvertible("double");
}

function textToBool(text: string): boolean {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(text)) return false;
  throw unconvertible("bool");
}

function bytesToText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) {
      throw new CelError("invalid UTF-8 in bytes, cannot convert to string");
    }
    throw error;
  }
}

function textToDuration(text: string): Duration {
  const nanos = parseGoNanos(text);
  if (nanos !== undefined) return new Duration(nanos);
  throw unconvertible("google.protobuf.Duration");
}

function unconvertible(type: string): CelError {
  return new CelError(`type conversion error from 'string' to '${type}'`);
}
