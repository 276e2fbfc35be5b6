// The document of the API (OpenAPI 3.1), made from the table of routes and the schemas. So it cannot
// differ from what is checked and answered.
import { apiRoot, apiVersion, Problem, Reset } from "./api.ts";
import { type Route, routes } from "./page-routes.ts";

/** As JSON. */
export function openApi(version: string): string {
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: "Lockstep page",
      version: `${apiVersion}`,
      description:
        `The API of the page of Lockstep ${version}. Times end in At and are milliseconds since 1970 by the ` +
        "server's clock; durations end in Ms. null is not known, never zero.",
    },
    paths: {
      ...pathsOf(),
      [`${apiRoot}/events`]: {
        get: {
          summary:
            "Server-sent events: reset (everything), state, journeys, points, doctor, incident. The id of " +
            "the last event resumes the stream.",
          parameters: [
            { name: "last-event-id", in: "header", required: false, schema: { type: "string" } },
          ],
          responses: {
            200: {
              description: "a stream that stays open; the first event is reset",
              content: { "text/event-stream": { schema: Reset } },
            },
          },
        },
      },
      "/healthz": {
        get: {
          summary: "The server runs",
          responses: { 200: { description: "ok", content: { "text/plain": {} } } },
        },
      },
    },
  });
}

function pathsOf(): Readonly<Record<string, object>> {
  const paths: Record<string, object> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return paths;
}

function operation({ summary, path, query, body, answer }: Route): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema,
  }));
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(body && {
      requestBody: {
        required: true,
        content: { [body.contentType]: { schema: body.schema ?? {} } },
      },
    }),
    responses: {
      200: { description: "the answer", content: { "application/json": { schema: answer } } },
      default: { description: "a problem", content: { "application/json": { schema: Problem } } },
    },
  };
}
