// Paths that are not resources: health, version, discovery, OpenAPI and metrics.
import type { Registry } from "prom-client";
import { exposition } from "../../components/exposition.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { type Answer, jsonAnswer, textAnswer } from "./answer.ts";
import { discoveryDocument } from "./discovery.ts";
import { openApiDocument } from "./openapi.ts";
import { methodNotAllowed, notFoundPath, type OtherRoute } from "./route.ts";

const healthPaths = ["/healthz", "/livez", "/readyz"];

/** What anybody may read, as real servers let anybody: health and version. */
export function publicAnswer(path: string, gitVersion: string): Answer | undefined {
  if (healthPaths.includes(path)) {
    return textAnswer(200, "ok");
  }
  return path === "/version" ? jsonAnswer(200, versionDocument(gitVersion)) : undefined;
}

export async function otherAnswer(
  method: string,
  route: OtherRoute,
  metrics: Registry,
  kinds: readonly ResourceKind[],
): Promise<Answer> {
  const path = route.path.length > 1 ? route.path.replace(/\/$/, "") : route.path;
  if (path === "/metrics") {
    const body = Buffer.from(await exposition(metrics), "utf8");
    return { status: 200, body, contentType: metrics.contentType };
  }
  const document = discoveryDocument(path, kinds) ?? openApiDocument(path, kinds);
  if (document === undefined) {
    throw notFoundPath();
  }
  if (method !== "GET") {
    throw methodNotAllowed();
  }
  return jsonAnswer(200, document);
}

function versionDocument(gitVersion: string): object {
  const [, major = "1", minor = "0"] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    gitVersion,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform: "lockstep/lab",
  };
}
