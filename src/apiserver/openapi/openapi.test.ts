// The OpenAPI documents: what clients read in them, and how they may keep them.
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { readProtobufFields } from "../decode/protobuf.ts";
import { allKinds } from "../kinds/all-kinds.ts";
import { objectAt, textAt, valueAt } from "../kinds/fields.ts";
import { openApiV2 } from "./openapi-v2.ts";
import { encodeOpenApiV2 } from "./openapi-v2-protobuf.ts";
import { openApiV3 } from "./openapi-v3.ts";

const apps = "apis/apps/v1";
const schemasPlace = ["components", "schemas"];

describe("OpenAPI version 3", () => {
  test("has an index of documents under their hashes, which may be kept forever", () =>
    inApiWorld(async ({ call }) => {
      const index = await call("GET", "/openapi/v3");
      const url = textAt(index.json, "paths", apps, "serverRelativeURL");
      expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/);
      const kept = await call("GET", url);
      const { etag = "", ...headers } = kept.headers;
      expect([kept.status, headers["cache-control"], headers["vary"]]).toEqual([
        200,
        "public, immutable",
        "Accept",
      ]);
      expect(url).toContain(etag.slice(1, -1));
      const plain = await call("GET", `/openapi/v3/${apps}`);
      expect(plain.headers["cache-control"]).toBe("no-cache, private");
      expect(plain.json).toEqual(kept.json);
      const known = await call("GET", url, undefined, { headers: { "if-none-match": etag } });
      expect([known.status, known.text]).toEqual([304, ""]);
      const old = await call("GET", `/openapi/v3/${apps}?hash=OLD`);
      expect([old.status, old.headers["location"]]).toEqual([301, url]);
    }));

  test("is not there for groups that are not served, nor in a form that is not spoken", () =>
    inApiWorld(async ({ call }) => {
      expect((await call("GET", "/openapi/v3/apis/nope/v1")).status).toBe(404);
      const headers = { accept: "application/com.github.proto-openapi.spec.v3@v1.0+protobuf" };
      expect((await call("GET", `/openapi/v3/${apps}`, undefined, { headers })).status).toBe(406);
    }));

  const document = openApiV3(
    allKinds.filter(({ group }) => group === "apps"),
    "1.36",
  );

  test("has the merge keys of lists and the kind of each type", () => {
    const spec = objectAt(document, ...schemasPlace, "io.k8s.api.core.v1.PodSpec", "properties");
    expect(spec?.["containers"]).toEqual({
      type: "array",
      items: { $ref: "#/components/schemas/io.k8s.api.core.v1.Container" },
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
    const list = objectAt(document, ...schemasPlace, "io.k8s.api.apps.v1.DeploymentList");
    expect(list?.["x-kubernetes-group-version-kind"]).toEqual([
      { group: "apps", kind: "DeploymentList", version: "v1" },
    ]);
  });

  test("has every type it refers to", () => {
    const names = new Set(Object.keys(objectAt(document, ...schemasPlace) ?? {}));
    const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
    const missing = [...references].map(([, name = ""]) => name).filter((name) => !names.has(name));
    expect(missing).toEqual([]);
  });

  test("has the parameters of a patch", () => {
    const path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    const patch = objectAt(document, "paths", path, "patch");
    expect(patch?.["parameters"]).toEqual(
      [
        ["dryRun", "string"],
        ["fieldManager", "string"],
        ["fieldValidation", "string"],
        ["force", "boolean"],
      ].map(([name, type]) => ({ name, in: "query", schema: { type, uniqueItems: true } })),
    );
    expect(patch?.["operationId"]).toBe("patchAppsV1NamespacedDeployment");
    expect(valueAt(patch, "x-kubernetes-action")).toBe("patch");
    expect(Object.keys(objectAt(document, "paths") ?? {}).slice(0, 4)).toEqual([
      "/apis/apps/v1/daemonsets",
      "/apis/apps/v1/namespaces/{namespace}/daemonsets",
      "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}",
      "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}/status",
    ]);
  });
});

describe("OpenAPI version 2", () => {
  const kinds = allKinds.filter(({ group }) => group === "");

  test("is one document, zipped when asked for", () =>
    inApiWorld(
      async ({ call, client }) => {
        const { json, headers } = await call("GET", "/openapi/v2");
        expect(headers["content-type"]).toBe("application/json");
        expect(objectAt(json, "definitions", "io.k8s.api.core.v1.ServicePort")).toEqual({
          type: "object",
          required: ["port"],
          properties: {
            appProtocol: { type: "string" },
            name: { type: "string" },
            nodePort: { type: "integer", format: "int32" },
            port: { type: "integer", format: "int32" },
            protocol: { type: "string" },
            targetPort: { $ref: "#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString" },
          },
        });
        const response = await client.network.request({
          method: "GET",
          url: "https://server:6443/openapi/v2",
          headers: { authorization: "Bearer admin-token", "accept-encoding": "gzip" },
        });
        const chunks: Uint8Array[] = [];
        for await (const chunk of response.body) chunks.push(chunk);
        expect(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString("utf8"))).toEqual(json);
      },
      { kinds },
    ));

  test("can be had in protobuf", () =>
    inApiWorld(
      async ({ call }) => {
        const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        const { status, headers } = await call("GET", "/openapi/v2", undefined, {
          headers: { accept },
        });
        expect([status, headers["content-type"]]).toEqual([
          200,
          "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ]);
      },
      { kinds },
    ));

  test("has all definitions and paths in protobuf that it has in JSON", () => {
    const document = openApiV2(kinds, "1.36");
    const message = readProtobufFields(encodeOpenApiV2(document));
    const namesIn = (number: number) => {
      const part = message.find((field) => field.number === number)?.value;
      return readProtobufFields(Buffer.isBuffer(part) ? part : Buffer.alloc(0)).map(({ value }) => {
        const entry = readProtobufFields(Buffer.isBuffer(value) ? value : Buffer.alloc(0));
        return String(entry.find((field) => field.number === 1)?.value);
      });
    };
    expect(namesIn(9)).toEqual(Object.keys(objectAt(document, "definitions") ?? {}));
    expect(namesIn(8)).toEqual(Object.keys(objectAt(document, "paths") ?? {}));
  });
});
