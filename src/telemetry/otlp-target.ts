// Where traces go: a flag, or else the variables that every OpenTelemetry exporter understands.
import type { Headers } from "../environment/network.ts";

export interface OtlpTarget {
  /** The whole URL that is posted to. */
  readonly url: string;
  readonly headers: Headers;
  readonly timeoutMs: number;
}

export class OtlpTargetError extends Error {
  override readonly name = "OtlpTargetError";
  readonly code = "OTLP_TARGET";
}

/** As the specification of OpenTelemetry's exporters has it. */
const defaultTimeoutMs = 10_000;

const tracesPath = "v1/traces";

/** Undefined when neither the flag nor a variable names a receiver. */
export function otlpTarget(
  flag: string | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): OtlpTarget | undefined {
  const url = urlOf(flag, variables);
  if (url === undefined) return undefined;
  return {
    url,
    headers: {
      ...headersOf(variables, "OTEL_EXPORTER_OTLP_HEADERS"),
      ...headersOf(variables, "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
    },
    timeoutMs: timeoutOf(variables),
  };
}

function urlOf(
  flag: string | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (flag !== undefined) return withTracesPath(checked("--otlp", flag));
  const whole = given(variables, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const base = given(variables, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (whole === undefined && base === undefined) return undefined;
  refuseGrpc(variables);
  // The one that names traces is taken as it is.
  if (whole !== undefined) return checked("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole).href;
  const url = checked("OTEL_EXPORTER_OTLP_ENDPOINT", base ?? "");
  return new URL(tracesPath, url.href.endsWith("/") ? url : `${url.href}/`).href;
}

/** A person who gives the whole path means it; one who gives only the server need not know it. */
function withTracesPath(url: URL): string {
  return url.pathname === "/" ? new URL(tracesPath, url).href : url.href;
}

function checked(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ["http:", "https:"].includes(url.protocol)) return url;
  throw new OtlpTargetError(
    `${name} must be the URL of an OTLP receiver over HTTP, such as http://localhost:4318, ` +
      `not ${JSON.stringify(text)}.`,
  );
}

/** Else journeys would be posted to a port that speaks another protocol, and be lost. */
function refuseGrpc(variables: Readonly<Record<string, string | undefined>>): void {
  const name = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
  const general = "OTEL_EXPORTER_OTLP_PROTOCOL";
  const protocol = given(variables, name) ?? given(variables, general);
  if (protocol !== "grpc") return;
  throw new OtlpTargetError(
    `${given(variables, name) === undefined ? general : name} is grpc, and Lockstep speaks OTLP ` +
      "over HTTP. Give the receiver's HTTP port with --otlp, usually 4318.",
  );
}

/** `name=value,name=value`, each percent-encoded. */
function headersOf(variables: Readonly<Record<string, string | undefined>>, name: string): Headers {
  const pairs = (given(variables, name) ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf("=");
      const key = pair.slice(0, equals).trim().toLowerCase();
      // The value may be a secret, so it is not shown.
      if (equals < 1)
        throw new OtlpTargetError(`${name} must be name=value pairs separated by commas.`);
      return [key, decoded(name, pair.slice(equals + 1).trim())];
    }),
  );
}

function decoded(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new OtlpTargetError(`${name} has a value that is not percent-encoded.`, { cause });
  }
}

function timeoutOf(variables: Readonly<Record<string, string | undefined>>): number {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
  const name = names.find((one) => given(variables, one) !== undefined);
  if (name === undefined) return defaultTimeoutMs;
  const timeoutMs = Number(given(variables, name));
  if (Number.isSafeInteger(timeoutMs) && timeoutMs > 0) return timeoutMs;
  throw new OtlpTargetError(`${name} must be a whole number of milliseconds, such as 10000.`);
}

/** An empty variable counts as none. */
function given(
  variables: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const text = variables[name]?.trim();
  return text === "" ? undefined : text;
}
