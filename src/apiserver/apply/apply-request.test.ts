// Server-side apply and managed fields over HTTP. The expected answers are those of a
// kube-apiserver 1.36; e2e/real/apply-cases.ts compares with one.
import { describe, expect, test } from "vitest";
import {
  type ApiWorld,
  failure,
  inApiWorld,
  type Reply,
} from "../../../tests/apiserver/api-world.ts";
import { isJsonObject, listAt, objectAt, textAt, valueAt } from "../kinds/fields.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const map = `${maps}/a`;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const deployment = `${deployments}/a`;

function configMap(data: object, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, data };
}

function deploymentOf(spec: object, container: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "a" },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "web", image: "web:1", ...container }] },
      },
      ...spec,
    },
  };
}

function inTrackedWorld(run: (world: Tracked) => Promise<void>): Promise<void> {
  return inApiWorld((world) => run(tracked(world)), { trackFieldsFrom: "creation" });
}

interface Tracked extends ApiWorld {
  readonly apply: (path: string, manager: string, body: unknown, query?: string) => Promise<Reply>;
  readonly patch: (path: string, manager: string, body: unknown) => Promise<Reply>;
}

function tracked(world: ApiWorld): Tracked {
  return {
    ...world,
    apply: (path, manager, body, query = "") =>
      world.call("PATCH", `${path}?fieldManager=${manager}${query}`, body, {
        contentType: "application/apply-patch+yaml",
      }),
    patch: (path, manager, body) =>
      world.call("PATCH", `${path}?fieldManager=${manager}`, body, {
        contentType: "application/merge-patch+json",
      }),
  };
}

/** A line per entry: manager, operation, seconds since the start of the world, fields. */
function owners({ json }: Reply): string[] {
  return listAt(json, "metadata", "managedFields").map((entry) => {
    const time = textAt(entry, "time");
    const seconds = time === "" ? "never" : (Date.parse(time) - Date.UTC(2026)) / 1000;
    const subresource = textAt(entry, "subresource");
    const place = subresource === "" ? "" : `/${subresource}`;
    const fields = JSON.stringify(valueAt(entry, "fieldsV1"));
    return `${textAt(entry, "manager")} ${textAt(entry, "operation")}${place} ${seconds} ${fields}`;
  });
}

describe("server-side apply", () => {
  test("creates and changes an object, and removes fields that are no longer applied", () =>
    inTrackedWorld(async ({ apply, simulation }) => {
      const created = await apply(map, "one", configMap({ a: "1", b: "2" }));
      expect([created.status, owners(created)]).toEqual([
        201,
        ['one Apply 0 {"f:data":{"f:a":{},"f:b":{}}}'],
      ]);
      await simulation.sleep(5_000);
      const changed = await apply(map, "one", configMap({ b: "3" }));
      expect([changed.status, objectAt(changed.json, "data"), owners(changed)]).toEqual([
        200,
        { b: "3" },
        ['one Apply 5 {"f:data":{"f:b":{}}}'],
      ]);
    }));

  test("writes nothing if nothing changes", () =>
    inTrackedWorld(async ({ apply, simulation }) => {
      const first = await apply(map, "one", configMap({ a: "1" }));
      await simulation.sleep(5_000);
      expect((await apply(map, "one", configMap({ a: "1" }))).json).toEqual(first.json);
    }));

  test("writes nothing if the server drops the change", () =>
    inTrackedWorld(async ({ apply, simulation }) => {
      const first = await apply(map, "one", configMap({}));
      await simulation.sleep(5_000);
      expect([owners(first), (await apply(map, "one", configMap({}))).json]).toEqual([
        ['one Apply 0 {"f:data":{}}'],
        first.json,
      ]);
    }));

  test("conflicts with other owners, and takes their fields with force", () =>
    inTrackedWorld(async ({ apply, call }) => {
      await call("POST", maps, configMap({ a: "1", b: "2" }), {
        headers: { "user-agent": "kubectl/v1.36.0 (linux)" },
      });
      const refused = await apply(map, "one", configMap({ a: "3", b: "4" }));
      const conflict = (field: string) => ({
        reason: "FieldManagerConflict",
        message: 'conflict with "kubectl" using v1',
        field,
      });
      expect([refused.status, refused.json]).toEqual([
        409,
        failure(
          409,
          "Conflict",
          'Apply failed with 2 conflicts: conflicts with "kubectl" using v1:\n- .data.a\n- .data.b',
          { causes: [conflict(".data.a"), conflict(".data.b")] },
        ),
      ]);
      const one = await apply(map, "one", configMap({ a: "3", b: "2" }));
      expect(textAt(one.json, "message")).toBe(
        'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.a',
      );
      const forced = await apply(map, "one", configMap({ a: "3", b: "2" }), "&force=true");
      expect([objectAt(forced.json, "data"), owners(forced)]).toEqual([
        { a: "3", b: "2" },
        [
          'one Apply 0 {"f:data":{"f:a":{},"f:b":{}}}',
          'kubectl Update 0 {"f:data":{".":{},"f:b":{}}}',
        ],
      ]);
    }));

  test("shares a field that has the same value, and removes it with its last owner", () =>
    inTrackedWorld(async ({ apply }) => {
      await apply(map, "one", configMap({ a: "1", b: "2" }));
      const shared = await apply(map, "two", configMap({ a: "1" }));
      expect(owners(shared)).toEqual([
        'two Apply never {"f:data":{"f:a":{}}}',
        'one Apply 0 {"f:data":{"f:a":{},"f:b":{}}}',
      ]);
      const left = await apply(map, "one", configMap({ b: "2" }));
      expect(objectAt(left.json, "data")).toEqual({ a: "1", b: "2" });
      const gone = await apply(map, "two", configMap({}));
      expect([objectAt(gone.json, "data"), owners(gone)]).toEqual([
        { b: "2" },
        ['one Apply 0 {"f:data":{"f:b":{}}}', 'two Apply 0 {"f:data":{}}'],
      ]);
    }));

  test("matches list items by their keys, including defaults of keys", () =>
    inTrackedWorld(async ({ apply }) => {
      const http = { containerPort: 80 };
      const dns = { containerPort: 53, protocol: "UDP" };
      await apply(deployment, "one", deploymentOf({}, { ports: [dns, http] }));
      const named = { containerPort: 80, protocol: "TCP", name: "http" };
      await apply(deployment, "two", deploymentOf({}, { ports: [named] }));
      const result = await apply(deployment, "one", deploymentOf({}, { ports: [http] }));
      const [container] = listAt(result.json, "spec", "template", "spec", "containers");
      expect(listAt(container, "ports")).toEqual([named]);
      const fields = listAt(result.json, "metadata", "managedFields").map((entry) => [
        textAt(entry, "manager"),
        valueAt(entry, "fieldsV1", "f:spec", "f:template", "f:spec"),
      ]);
      const port = 'k:{"containerPort":80,"protocol":"TCP"}';
      const web = (ports: object) => ({
        "f:containers": {
          'k:{"name":"web"}': { ".": {}, "f:image": {}, "f:name": {}, "f:ports": ports },
        },
      });
      expect(fields).toEqual([
        ["one", web({ [port]: { ".": {}, "f:containerPort": {} } })],
        [
          "two",
          web({ [port]: { ".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {} } }),
        ],
      ]);
    }));

  test("changes either status or spec", () =>
    inTrackedWorld(async ({ apply, call }) => {
      await apply(deployment, "one", { ...deploymentOf({}), status: { replicas: 3 } });
      await apply(`${deployment}/status`, "two", {
        ...deploymentOf({ replicas: 9 }),
        status: { replicas: 2 },
      });
      const { json } = await call("GET", deployment);
      expect([valueAt(json, "spec", "replicas"), objectAt(json, "status")]).toEqual([
        1,
        { replicas: 2 },
      ]);
      const [, status] = listAt(json, "metadata", "managedFields");
      expect([textAt(status, "subresource"), objectAt(status, "fieldsV1")]).toEqual([
        "status",
        { "f:status": { "f:replicas": {} } },
      ]);
    }));

  test("transfers spec.replicas through the scale subresource", () =>
    inTrackedWorld(async ({ apply, call, patch }) => {
      await apply(deployment, "one", deploymentOf({ replicas: 1 }));
      await patch(`${deployment}/scale`, "scaler", { spec: { replicas: 4 } });
      const refused = await apply(deployment, "one", deploymentOf({ replicas: 1 }));
      expect(textAt(refused.json, "message")).toBe(
        'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using ' +
          "apps/v1: .spec.replicas",
      );
      const released = await apply(deployment, "one", deploymentOf({}));
      expect(valueAt(released.json, "spec", "replicas")).toBe(4);
      const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a" } };
      const body = { ...scale, spec: { replicas: 5 } };
      await apply(`${deployment}/scale`, "two", body, "&force=true");
      expect(owners(await call("GET", deployment))[0]).toBe(
        'two Apply/scale never {"f:spec":{"f:replicas":{}}}',
      );
    }));

  test("takes over the fields of a client-side kubectl apply, and updates its annotation", () =>
    inTrackedWorld(async ({ apply, call }) => {
      const note = "kubectl.kubernetes.io/last-applied-configuration";
      const before = configMap({ a: "1", b: "2" });
      const annotations = { [note]: JSON.stringify(before) };
      const manager = "fieldManager=kubectl-client-side-apply";
      await call(
        "POST",
        `${maps}?${manager}`,
        configMap({ a: "1", b: "changed" }, { annotations }),
      );
      const partly = await apply(map, "kubectl", configMap({ a: "3", b: "4" }));
      expect(textAt(partly.json, "message")).toBe(
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.b',
      );
      const taken = await apply(map, "kubectl", configMap({ a: "3" }));
      expect([
        objectAt(taken.json, "data"),
        valueAt(taken.json, "metadata", "annotations"),
      ]).toEqual([
        { a: "3", b: "changed" },
        {
          [note]:
            '{"apiVersion":"v1","data":{"a":"3"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
        },
      ]);
    }));

  test("changes nothing in a dry run", () =>
    inTrackedWorld(async ({ apply, call }) => {
      const dry = await apply(map, "one", configMap({ a: "1" }), "&dryRun=All");
      expect([dry.status, owners(dry)]).toEqual([201, ['one Apply 0 {"f:data":{"f:a":{}}}']]);
      expect((await call("GET", map)).status).toBe(404);
    }));

  test("warns of repeated keys, and refuses them with strict validation", () =>
    inTrackedWorld(async ({ apply }) => {
      const yaml =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: one\n  a: two\n";
      const warned = await apply(map, "one", yaml);
      expect([objectAt(warned.json, "data"), warned.headers["warning"]]).toEqual([
        { a: "two" },
        '299 - "line 6: key \\"a\\" already set in map"',
      ]);
      const refused = await apply(map, "one", yaml, "&fieldValidation=Strict");
      expect([refused.status, textAt(refused.json, "message")]).toEqual([
        400,
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n" +
          '  line 6: key "a" already set in map',
      ]);
    }));

  const good = configMap({ a: "1" });
  const misfit = (object: string, problem: string): [number, string] => [
    500,
    `failed to create typed patch object (${object}): ${problem}`,
  ];
  const mapText = "/a; /v1, Kind=ConfigMap";
  const deploymentText = "/a; apps/v1, Kind=Deployment";
  const ports = '.spec.template.spec.containers[name="web"].ports';
  const refusals: readonly [path: string, body: unknown, answer: readonly [number, string]][] = [
    [map, { ...good, foo: 1 }, misfit(mapText, ".foo: field not declared in schema")],
    [
      map,
      configMap({ a: 1 }),
      misfit(mapText, ".data.a: expected string, got &value.valueUnstructured{Value:1}"),
    ],
    [map, configMap([1]), misfit(mapText, ".data: expected map, got &{[1]}")],
    [
      deployment,
      deploymentOf({ replicas: "1" }),
      misfit(deploymentText, ".spec.replicas: expected numeric (int or float), got string"),
    ],
    [
      deployment,
      deploymentOf({}, { ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
      misfit(
        deploymentText,
        `${ports}: duplicate entries for key [containerPort=80,protocol="TCP"]`,
      ),
    ],
    [map, { ...good, kind: "Secret" }, [400, "invalid object type: /v1, Kind=Secret"]],
    [map, "", [400, "invalid object type: /, Kind="]],
    [
      map,
      "[1]",
      [
        400,
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot " +
          "unmarshal array into Go value of type map[string]interface {}",
      ],
    ],
    [map, configMap({}, { managedFields: [] }), [400, "metadata.managedFields must be nil"]],
    [
      map,
      configMap({}, { name: "b" }),
      [400, "the name of the object (b) does not match the name on the URL (a)"],
    ],
    [
      map,
      configMap({}, { uid: "x" }),
      [
        409,
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object ' +
          "specified uid x, and no existing object was found",
      ],
    ],
    [`${deployment}/status`, deploymentOf({}), [404, 'deployments.apps "a" not found']],
    [
      deployment,
      deploymentOf({}, { resources: { limits: { cpu: "much" } } }),
      [
        500,
        `failed to convert new object (${deploymentText}) to proper version: unable to convert ` +
          "unstructured object to apps/v1, Kind=Deployment: quantities must match the regular " +
          "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      ],
    ],
  ];
  test("refuses invalid configurations with the messages of the real server", () =>
    inTrackedWorld(async ({ apply }) => {
      for (const [path, body, answer] of refusals) {
        const { status, json } = await apply(path, "one", body);
        expect([status, textAt(json, "message")]).toEqual(answer);
      }
    }));

  const options: readonly [query: string, message: string][] = [
    ["", "fieldManager: Required value: is required for apply patch"],
    [`?fieldManager=${"x".repeat(129)}`, "fieldManager: Too long: may not be more than 128 bytes"],
    [
      "?fieldManager=x%0Ay",
      'fieldManager: Invalid value: "x\\ny": invalid character U+000A (at position 1)',
    ],
  ];
  test("refuses a missing or unprintable field manager", () =>
    inTrackedWorld(async ({ call }) => {
      const contentType = "application/apply-patch+yaml";
      for (const [query, message] of options) {
        const { status, json } = await call("PATCH", `${map}${query}`, good, { contentType });
        expect([status, textAt(json, "message")]).toEqual([
          422,
          `PatchOptions.meta.k8s.io "" is invalid: ${message}`,
        ]);
      }
    }));

  test("is the only patch that allows force", () =>
    inTrackedWorld(async ({ call }) => {
      const contentType = "application/merge-patch+json";
      const { json } = await call("PATCH", `${map}?force=true`, {}, { contentType });
      expect(textAt(json, "message")).toBe(
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for ' +
          "non-apply patch",
      );
    }));
});

describe("managedFields", () => {
  test("name the manager by the fieldManager parameter or the user agent", () =>
    inTrackedWorld(async ({ call, patch, simulation }) => {
      const from = (agent: string) => ({ headers: { "user-agent": agent } });
      await call("POST", maps, configMap({ a: "1" }, { labels: { x: "y" } }), from("maker/1 (x)"));
      await simulation.sleep(1_000);
      await call("PUT", map, configMap({ a: "2", b: "1" }), from("/"));
      await simulation.sleep(1_000);
      const patched = await patch(map, "patcher", { data: { a: null, c: "1" } });
      expect(owners(patched)).toEqual([
        'maker Update 0 {"f:data":{}}',
        'unknown Update 1 {"f:data":{"f:b":{}}}',
        'patcher Update 2 {"f:data":{"f:c":{}}}',
      ]);
    }));

  test("include defaults, and leave out fields that cannot have an owner", () =>
    inTrackedWorld(async ({ call }) => {
      const created = await call("POST", deployments, deploymentOf({}), {
        headers: { "user-agent": "maker" },
      });
      expect(owners(created)).toEqual([
        'maker Update 0 {"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},' +
          '"f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},' +
          '"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":' +
          '{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"web\\"}":' +
          '{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},' +
          '"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},' +
          '"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},' +
          '"f:terminationGracePeriodSeconds":{}}}}}',
      ]);
    }));

  test("are reset by an empty entry, and start again with before-first-apply", () =>
    inTrackedWorld(async ({ apply, call, patch }) => {
      await call("POST", maps, configMap({ a: "1" }));
      const reset = await patch(map, "patcher", { metadata: { managedFields: [{}] } });
      expect(owners(reset)).toEqual([]);
      expect(owners(await patch(map, "patcher", { data: { b: "2" } }))).toEqual([]);
      expect(owners(await apply(map, "one", configMap({ c: "3" })))).toEqual([
        'one Apply 0 {"f:data":{"f:c":{}}}',
        'before-first-apply Update 0 {"f:data":{".":{},"f:a":{},"f:b":{}}}',
      ]);
    }));

  test("begin with the first apply if they are not tracked from creation", () =>
    inApiWorld(async (world) => {
      const { apply, call } = tracked(world);
      const created = await call("POST", maps, configMap({ a: "1" }));
      expect(owners(created)).toEqual([]);
      expect(owners(await apply(map, "one", configMap({ b: "2" })))).toEqual([
        'one Apply 0 {"f:data":{"f:b":{}}}',
        'before-first-apply Update 0 {"f:data":{".":{},"f:a":{}}}',
      ]);
    }));

  test("keep ten managers of updates and merge the older ones", () =>
    inTrackedWorld(async ({ call, patch, simulation }) => {
      await call("POST", maps, configMap({ first: "1" }), { headers: { "user-agent": "u00" } });
      for (let index = 1; index <= 11; index++) {
        await simulation.sleep(1_000);
        const name = `u${String(index).padStart(2, "0")}`;
        await patch(map, name, { data: { [name]: "1" } });
      }
      const entries = owners(await call("GET", map));
      expect([entries.length, entries[0], entries[1]]).toEqual([
        10,
        'ancient-changes Update 2 {"f:data":{".":{},"f:first":{},"f:u01":{},"f:u02":{}}}',
        'u03 Update 3 {"f:data":{"f:u03":{}}}',
      ]);
    }));

  test("can be set by clients, unless they are malformed", () =>
    inTrackedWorld(async ({ call, patch }) => {
      await call("POST", maps, configMap({ a: "1" }), { headers: { "user-agent": "maker" } });
      const entry = {
        manager: "other",
        operation: "Apply",
        apiVersion: "v1",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:a": {} } },
      };
      const given = await patch(map, "p", { metadata: { managedFields: [entry] } });
      expect(owners(given)).toEqual(['other Apply never {"f:data":{"f:a":{}}}']);
      const nonsense = { ...entry, fieldsV1: { x: {} } };
      const kept = await patch(map, "p", { metadata: { managedFields: [nonsense] } });
      expect(owners(kept)).toEqual(['other Apply never {"f:data":{"f:a":{}}}']);
      const outdated = { ...entry, apiVersion: "v0" };
      const forgotten = await patch(map, "p", {
        metadata: { managedFields: [outdated] },
        data: { b: "1" },
      });
      expect(owners(forgotten)).toEqual(['p Update 0 {"f:data":{"f:b":{}}}']);
    }));

  test("do not change when the server itself writes", () =>
    inTrackedWorld(async ({ call }) => {
      await call("POST", "/api/v1/namespaces/default/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", finalizers: ["example.com/a"] },
        spec: { containers: [{ name: "c", image: "i" }] },
      });
      const deleted = await call("DELETE", "/api/v1/namespaces/default/pods/a");
      expect(isJsonObject(deleted.json) && owners(deleted)).toHaveLength(1);
    }));
});
