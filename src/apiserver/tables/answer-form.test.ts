// Tables and PartialObjectMetadata in answers and watches, whole.
import { describe, expect, test } from "vitest";
import {
  type ApiWorld,
  failure,
  inApiWorld,
  type Reply,
} from "../../../tests/apiserver/api-world.ts";
import { isJsonObject, type JsonObject, objectAt, objectsAt } from "../kinds/fields.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const asTable = accepting("application/json;as=Table;v=v1;g=meta.k8s.io");
const asPartial = accepting("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
const asPartials = accepting("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");

function accepting(accept: string): { headers: Record<string, string> } {
  return { headers: { accept } };
}

function configMap(name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } };
}

async function withTwo(run: (world: ApiWorld, a: JsonObject, b: JsonObject) => Promise<void>) {
  await inApiWorld(async (world) => {
    const [a = {}, b = {}] = [
      await world.call("POST", configMaps, configMap("a")),
      await world.call("POST", configMaps, configMap("b")),
    ].map(({ json }) => (isJsonObject(json) ? json : {}));
    await run(world, a, b);
  });
}

const columns = [
  { name: "Name", type: "string", format: "name", priority: 0 },
  { name: "Data", type: "string", format: "", priority: 0 },
  { name: "Age", type: "string", format: "", priority: 0 },
];

/** Without the columns' descriptions, which are our own. */
function described(table: unknown): unknown {
  const columnDefinitions = objectsAt(table, "columnDefinitions").map(
    ({ name, type, format, priority }) => ({ name, type, format, priority }),
  );
  return isJsonObject(table) && table["columnDefinitions"] !== null
    ? { ...table, columnDefinitions }
    : table;
}

function partial(object: JsonObject): object {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: objectAt(object, "metadata"),
  };
}

function versionOf(object: JsonObject): unknown {
  return objectAt(object, "metadata")?.["resourceVersion"];
}

function tableOf(version: unknown, rows: readonly object[]): object {
  const metadata = { resourceVersion: version };
  const head = { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata };
  return { ...head, columnDefinitions: columns, rows };
}

describe("a Table", () => {
  test("of one object has its version and its metadata", () =>
    withTwo(async ({ call }, a) => {
      const { json } = await call("GET", `${configMaps}/a`, undefined, asTable);
      expect(described(json)).toEqual(
        tableOf(versionOf(a), [{ cells: ["a", 1, "0s"], object: partial(a) }]),
      );
    }));

  test("of a list has a row for each, and as much of each object as is asked for", () =>
    withTwo(async ({ call }, a, b) => {
      const rows = async (query: string) =>
        objectsAt((await call("GET", `${configMaps}${query}`, undefined, asTable)).json, "rows");
      const cells = [
        ["a", 1, "0s"],
        ["b", 1, "0s"],
      ];
      const shows = (...objects: unknown[]) =>
        objects.map((object, index) => ({ cells: cells[index], object }));
      expect(await rows("")).toEqual(shows(partial(a), partial(b)));
      expect(await rows("?includeObject=Metadata")).toEqual(shows(partial(a), partial(b)));
      expect(await rows("?includeObject=Object")).toEqual(shows(a, b));
      expect(await rows("?includeObject=None")).toEqual(shows(null, null));
      expect(
        (await call("GET", `${configMaps}?includeObject=All`, undefined, asTable)).json,
      ).toEqual(
        failure(
          400,
          "BadRequest",
          "Unable to convert to Table as requested: includeObject: Invalid value: " +
            "\"All\": must be 'Metadata', 'Object', 'None', or empty",
        ),
      );
    }));

  test("of a page has the token of the next page", () =>
    withTwo(async ({ call }, _, b) => {
      const path = `${configMaps}?limit=1&includeObject=None`;
      const { json } = await call("GET", path, undefined, asTable);
      expect(objectAt(json, "metadata")).toEqual({
        resourceVersion: versionOf(b),
        continue: expect.any(String),
        remainingItemCount: 1,
      });
    }));

  test("answers writes, but not in place of a Status", () =>
    withTwo(async ({ call }) => {
      const created = await call("POST", configMaps, configMap("c"), asTable);
      expect(created.status).toBe(201);
      expect(objectsAt(created.json, "rows").map((row) => row["cells"])).toEqual([["c", 1, "0s"]]);
      const deleted = await call("DELETE", `${configMaps}/c`, undefined, asTable);
      expect(deleted.json).toMatchObject({ kind: "Status", status: "Success" });
      const absent = await call("GET", `${configMaps}/c`, undefined, asTable);
      expect(absent.text).toBe(JSON.stringify(absent.json, null, 2));
    }));

  test("of a scale has the scale's columns", () =>
    inApiWorld(async ({ call }) => {
      const deployments = "/apis/apps/v1/namespaces/default/deployments";
      const template = {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      };
      await call("POST", deployments, {
        metadata: { name: "web" },
        spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template },
      });
      const { json } = await call("GET", `${deployments}/web/scale`, undefined, asTable);
      expect(objectsAt(json, "columnDefinitions").map((column) => column["name"])).toEqual([
        "Name",
        "Desired",
        "Available",
        "Age",
      ]);
      expect(objectsAt(json, "rows").map((row) => row["cells"])).toEqual([["web", 3, 0, "0s"]]);
    }));

  test("can be in YAML", () =>
    withTwo(async ({ call }) => {
      const path = `${configMaps}/a?includeObject=None`;
      const yaml = accepting("application/yaml;as=Table;v=v1;g=meta.k8s.io");
      const { text, headers } = await call("GET", path, undefined, yaml);
      expect(headers["content-type"]).toBe("application/yaml");
      expect(text).toMatch(/rows:\n- cells:\n {2}- a\n {2}- 1\n {2}- 0s\n {2}object: null\n$/);
    }));
});

describe("PartialObjectMetadata", () => {
  test("is an object's metadata, or a list of them", () =>
    withTwo(async ({ call }, a, b) => {
      const one = await call("GET", `${configMaps}/a`, undefined, asPartial);
      expect(one.json).toEqual(partial(a));
      expect((await call("GET", configMaps, undefined, asPartials)).json).toEqual({
        kind: "PartialObjectMetadataList",
        apiVersion: "meta.k8s.io/v1",
        metadata: { resourceVersion: versionOf(b) },
        items: [partial(a), partial(b)],
      });
    }));

  test("is refused where it does not fit", () =>
    withTwo(async ({ call }) => {
      const prefix = "you requested PartialObjectMetadata";
      expect((await call("GET", configMaps, undefined, asPartial)).json).toEqual(
        failure(
          406,
          "NotAcceptable",
          `${prefix}, but the requested object is a list (*core.ConfigMapList)`,
        ),
      );
      expect((await call("GET", `${configMaps}/a`, undefined, asPartials)).json).toEqual(
        failure(
          406,
          "NotAcceptable",
          `${prefix}List, but the requested object is not a list (*core.ConfigMap)`,
        ),
      );
    }));
});

describe("a watch", () => {
  const fromStart =
    "watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&" +
    "resourceVersionMatch=NotOlderThan";

  function events({ text }: Reply): readonly JsonObject[] {
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
      .slice(0, 3);
  }

  test("as Tables has columns in the first event only, and the metadata that ends the state", () =>
    withTwo(async ({ call }, a, b) => {
      const path = `${configMaps}?${fromStart}&includeObject=None`;
      const reply = await call("GET", path, undefined, asTable);
      const shown = events(reply).map(({ type, object }) => [type, described(object)]);
      const later = { columnDefinitions: null };
      const annotations = { "k8s.io/initial-events-end": "true" };
      const end = { metadata: { resourceVersion: versionOf(b), annotations } };
      expect(shown).toEqual([
        ["ADDED", tableOf(versionOf(a), [{ cells: ["a", 1, "0s"], object: null }])],
        [
          "ADDED",
          { ...tableOf(versionOf(b), [{ cells: ["b", 1, "0s"], object: null }]), ...later },
        ],
        [
          "BOOKMARK",
          {
            ...tableOf(versionOf(b), [{ cells: ["", 0, "<unknown>"], object: partial(end) }]),
            ...later,
          },
        ],
      ]);
    }));

  test("as PartialObjectMetadata shows changes and deletions alike", () =>
    withTwo(async ({ call, client }, _, b) => {
      const path = `${configMaps}?watch=1&timeoutSeconds=2&resourceVersion=${versionOf(b)}`;
      const watching = call("GET", path, undefined, asPartial);
      await client.timers.sleep(1000);
      const { json: c } = await call("POST", configMaps, configMap("c"));
      await call("DELETE", `${configMaps}/c`);
      const metadata = { ...objectAt(c, "metadata") };
      const resourceVersion = String(Number(metadata["resourceVersion"]) + 1);
      expect(events(await watching)).toEqual([
        { type: "ADDED", object: partial({ metadata }) },
        { type: "DELETED", object: partial({ metadata: { ...metadata, resourceVersion } }) },
      ]);
    }));

  test("as a list is refused, since an event is none", () =>
    withTwo(async ({ call }) => {
      const { status } = await call("GET", `${configMaps}?watch=1`, undefined, asPartials);
      expect(status).toBe(406);
    }));
});

test("an answer is indented on request, and for browsers and curl", () =>
  withTwo(async ({ call }, a) => {
    const indented = JSON.stringify(a, null, 2);
    const curl = { headers: { "user-agent": "curl/8.0" } };
    expect((await call("GET", `${configMaps}/a?pretty=true`)).text).toBe(indented);
    expect((await call("GET", `${configMaps}/a`, undefined, curl)).text).toBe(indented);
    expect((await call("GET", `${configMaps}/a?pretty=false`, undefined, curl)).text).toBe(
      JSON.stringify(a),
    );
  }));
