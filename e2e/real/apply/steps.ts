// One request of a case of server-side apply, and how it is sent. The answers of two servers are
// compared; a case expects nothing itself.
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

/** `{case}` in path and body stands for a name of the case's own on each server. */
export interface ApplyStep {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** JSON, or YAML as text. */
  readonly body?: object | string;
  /** JSON unless given. */
  readonly contentType?: string;
  readonly userAgent?: string;
}

export interface ApplyCase {
  readonly name: string;
  readonly steps: readonly ApplyStep[];
}

export interface ApplyServer {
  readonly url: string;
  readonly token: string;
}

export interface StepAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly warning: string | undefined;
}

export const applyType = "application/apply-patch+yaml";
export const mergeType = "application/merge-patch+json";

/** An apply by `manager`; `query` goes behind it: `&force=true`. */
export function apply(path: string, manager: string, body: object | string, query = ""): ApplyStep {
  const target = `${path}?fieldManager=${manager}${query}`;
  return { method: "PATCH", path: target, body, contentType: applyType };
}

export function mergePatch(path: string, manager: string, body: object): ApplyStep {
  const target = `${path}?fieldManager=${manager}`;
  return { method: "PATCH", path: target, body, contentType: mergeType };
}

/** One connection at a time is kept for each server. */
const httpAgent = new HttpAgent({ keepAlive: true });
const httpsAgent = new HttpsAgent({ keepAlive: true, rejectUnauthorized: false });

export function send(server: ApplyServer, step: ApplyStep, caseName: string): Promise<StepAnswer> {
  const { method, path, body, contentType = "application/json", userAgent = "case/1.0" } = step;
  const isTls = server.url.startsWith("https:");
  const text = typeof body === "object" ? JSON.stringify(body) : (body ?? "");
  return new Promise((resolve, reject) => {
    const outgoing = (isTls ? httpsRequest : httpRequest)(
      new URL(named(path, caseName), server.url),
      {
        method,
        agent: isTls ? httpsAgent : httpAgent,
        headers: {
          authorization: `Bearer ${server.token}`,
          "user-agent": userAgent,
          ...(text === "" ? {} : { "content-type": contentType }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const answer = Buffer.concat(chunks).toString("utf8");
          const warning = response.headers["warning"]?.toString();
          resolve({ status: response.statusCode ?? 0, body: parse(answer), warning });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(named(text, caseName));
  });
}

function named(text: string, caseName: string): string {
  return text.replaceAll("{case}", caseName);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
