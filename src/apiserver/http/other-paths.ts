// Paths that are not resources: version, discovery, OpenAPI and metrics.
import type { Registry } from "prom-client";
import { exposition } from "../../components/exposition.ts";
import type { Headers } from "../../environment/network.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { OpenApi } from "../openapi/openapi.ts";
import { type Answer, jsonAnswer, textAnswer } from "./answer.ts";
import { aggregatedDiscovery, discoveryDocument } from "./discovery.ts";
import { methodNotAllowed, notFoundPath, type OtherRoute } from "./route.ts";

/** Answers that need no authentication, beside health, as on real servers. */
export function publicAnswer(path: string, gitVersion: string): Answer | undefined {
  const isVersion = withoutSlash(path) === "/version";
  return isVersion ? jsonAnswer(200, versionDocument(gitVersion)) : undefined;
}

/** Documents are found with a slash at the end too; metrics, health and OpenAPI are not. */
export function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}

export interface OtherRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly route: OtherRoute;
  readonly metrics: Registry;
  readonly kinds: readonly ResourceKind[];
  readonly openApi: OpenApi;
}

export async function otherAnswer(request: OtherRequest): Promise<Answer> {
  const { method, headers, route, metrics, kinds, openApi } = request;
  const { path } = route;
  if (path === "/metrics") {
    const body = Buffer.from(await exposition(metrics), "utf8");
    return { status: 200, body, contentType: metrics.contentType };
  }
  const answer =
    discoveryAnswer(withoutSlash(path), headers["accept"], kinds) ??
    openApi.answer({ path, query: route.query, headers, kinds });
  if (answer === undefined) {
    const isBelowGroup = /^\/apis?(\/|$)/.test(path) && kinds.some((kind) => isBelow(path, kind));
    if (isBelowGroup) throw notFoundPath();
    return noSuchPage();
  }
  if (method !== "GET") {
    throw methodNotAllowed();
  }
  return answer;
}

function isBelow(path: string, { group }: ResourceKind): boolean {
  const root = group === "" ? "/api" : `/apis/${group}`;
  return path === root || path.startsWith(`${root}/`);
}

/** An unknown path is answered by the server's HTTP library alone. */
function noSuchPage(): Answer {
  const headers = { "x-content-type-options": "nosniff" };
  return { ...textAnswer(404, "404 page not found\n"), headers };
}

/** Discovery in the form that the client accepts: group by group, or all at once. */
function discoveryAnswer(
  path: string,
  accept: string | undefined,
  kinds: readonly ResourceKind[],
): Answer | undefined {
  const aggregated = aggregatedDiscovery(path, accept, kinds);
  if (aggregated !== undefined) {
    return aggregated;
  }
  const document = discoveryDocument(path, kinds);
  return document === undefined ? undefined : jsonAnswer(200, document);
}

/** The first 1.x that reports the version it emulates. */
const emulationMinor = 34;

function emulation(major: string, minor: string): object {
  return {
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
  };
}

function versionDocument(gitVersion: string): object {
  const [, major = "1", minor = "0"] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    ...(Number(minor) < emulationMinor ? {} : emulation(major, minor)),
    gitVersion,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform: "lockstep/lab",
  };
}
