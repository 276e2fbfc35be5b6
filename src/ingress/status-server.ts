// The ingress's own small listener, by default on loopback: health, metrics, the truth table and
// the journal of routed changes.
import type { Listener } from "../environment/network.ts";
import {
  jsonAnswer,
  type StatusAnswer,
  type StatusListenerOptions,
  type StatusPage,
  startStatusListener,
  textAnswer,
} from "../telemetry/status-listener.ts";
import type { Explanation, Question } from "./explanation.ts";
import type { RoutedJournal } from "./routed-journal.ts";
import type { ServiceReport } from "./service-report.ts";

export interface StatusServerOptions extends Omit<StatusListenerOptions, "pages"> {
  readonly journal: RoutedJournal;
  readonly state: () => object;
  /** Undefined before the first decision. */
  readonly explain: (question: Question) => Promise<Explanation | undefined>;
  /** Of `namespace/name`, or of one port of it; undefined before the first decision. */
  readonly endpoints: (service: string) => Promise<ServiceReport | undefined>;
}

/** How an answer begins that would be another one a moment later. */
export const undecided = "not ready: nothing is decided yet";

export async function startStatusServer(options: StatusServerOptions): Promise<Listener> {
  return await startStatusListener({ ...options, pages: pagesOf(options) });
}

function pagesOf(options: StatusServerOptions): readonly StatusPage[] {
  const { state, journal, explain, endpoints } = options;
  return [
    { path: "/state", answer: () => jsonAnswer(state()) },
    {
      path: "/routed",
      query: "?after=N",
      answer: (query) => {
        const after = Number(query.get("after") ?? 0);
        return Number.isSafeInteger(after) && after >= 0
          ? jsonAnswer(journal.answer(after))
          : textAnswer(400, "after must be a whole number");
      },
    },
    {
      path: "/explain",
      query: "?host=H&path=P",
      answer: async (query) => decided(await explain(questionOf(query)), options),
    },
    {
      path: "/endpoints",
      query: "?service=NAMESPACE/NAME",
      answer: async (query) => decided(await endpoints(query.get("service") ?? ""), options),
    },
  ];
}

/** Before the first decision every answer would show no endpoints, which may be wrong. */
function decided(
  found: object | undefined,
  { readiness }: Pick<StatusServerOptions, "readiness">,
): StatusAnswer {
  if (found !== undefined) return jsonAnswer(found);
  return textAnswer(503, [undecided, ...readiness().notes].join("\n"));
}

/** `header` is `name: value` and may come several times. */
function questionOf(parameters: URLSearchParams): Question {
  const headers = parameters.getAll("header").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    host: (parameters.get("host") ?? "").toLowerCase(),
    path: parameters.get("path") ?? "/",
    isSecure: parameters.get("secure") === "true",
    isCall: parameters.get("call") === "true",
    port: Number(parameters.get("port") ?? "") || undefined,
    headers: Object.fromEntries(headers),
  };
}
