import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { JourneyFilter } from "./journey-query.ts";
import { openApi } from "./openapi.ts";
import { routes } from "./page-routes.ts";

const text = readFileSync(new URL("../../docs/page.md", import.meta.url), "utf8");

test("docs/page.md has every path with its meaning, and no other", () => {
  const documented = [...text.matchAll(/^\| `((?:GET|POST) \/api\S+)` \| (.*) \|$/gm)];
  expect(documented.map(([, request, summary]) => `${request}: ${summary}`)).toEqual(
    routes.map(({ method, path, summary }) => `${method} ${path}: ${summary}`),
  );
});

test("docs/page.md names every filter of the list of journeys", () => {
  const [, sentence = ""] = /`GET \/api\/v1\/journeys` takes (.*?)\. Unknown/s.exec(text) ?? [];
  const names = [...sentence.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
  const filters = Object.keys(JourneyFilter.properties);
  expect(new Set(names.filter((name) => name !== "next"))).toEqual(new Set(filters));
});

test("every schema of the document is plain JSON", () => {
  const document: unknown = JSON.parse(openApi("1.2.3"));
  expect(JSON.stringify(document)).not.toContain("~kind");
  expect(document).toMatchObject({
    openapi: "3.1.0",
    paths: {
      "/api/v1/services/{namespace}/{name}": {
        get: {
          parameters: [
            { name: "namespace", in: "path" },
            { name: "name", in: "path" },
          ],
        },
      },
      "/api/v1/state": {
        get: {
          responses: { 200: { content: { "application/json": { schema: { type: "object" } } } } },
        },
      },
    },
  });
});
