import { describe, expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
} from "../../kube/kinds/fields.ts";
import type { ApiServerOptions } from "../api-server.ts";
import { type AuditForm, AuditLog, type AuditStage } from "./audit-log.ts";
import { PeerAddresses } from "./peer-addresses.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

/** The lines of a server with an audit log of this form. */
async function auditOf(
  form: AuditForm,
  ask: (call: ApiWorld["call"], world: ApiWorld) => Promise<void>,
  omitStages?: readonly AuditStage[],
  options: Partial<ApiServerOptions> = {},
): Promise<readonly RawRecord[]> {
  const lines: RawRecord[] = [];
  await inApiWorld(async (world) => {
    const log = new AuditLog({
      clock: world.simulation.host("audited").clock,
      form,
      peers: new PeerAddresses(),
      ...(omitStages === undefined ? {} : { omitStages }),
      write: (line) => lines.push(requiredRecord(JSON.parse(line), "an event")),
    });
    await world.addServer("audited", { observers: [log], ...options });
    const headers = { "user-agent": "kubectl/v1" };
    const call: ApiWorld["call"] = (method, path, body, options) =>
      world.call(method, path, body, { host: "audited", headers, ...options });
    await ask(call, world);
  });
  return lines;
}

const create = async (call: ApiWorld["call"]): Promise<void> => {
  await call("POST", configMaps, { metadata: { name: "a" } });
};

describe("a request is audited", () => {
  test("in the events of 1.7", async () => {
    expect(await auditOf("v1alpha1", create)).toMatchInlineSnapshot(`
      [
        {
          "apiVersion": "audit.k8s.io/v1alpha1",
          "auditID": "65e72486-3ec5-48ff-8f97-734a23a11dbf",
          "kind": "Event",
          "level": "Metadata",
          "metadata": {
            "creationTimestamp": "2026-01-01T00:00:00Z",
          },
          "objectRef": {
            "apiVersion": "v1",
            "name": "a",
            "namespace": "default",
            "resource": "configmaps",
          },
          "requestURI": "/api/v1/namespaces/default/configmaps",
          "responseStatus": {
            "code": 201,
            "metadata": {},
          },
          "sourceIPs": [
            "192.168.0.1",
          ],
          "stage": "ResponseComplete",
          "timestamp": "2026-01-01T00:00:00Z",
          "user": {
            "groups": [
              "system:masters",
              "system:authenticated",
            ],
            "username": "admin",
          },
          "verb": "create",
        },
      ]
    `);
  });

  test("in those of 1.8 to 1.11, which have the times of each stage", async () => {
    const [event] = await auditOf("v1beta1", create);
    expect(event).toMatchObject({
      apiVersion: "audit.k8s.io/v1beta1",
      metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
      requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
      stageTimestamp: "2026-01-01T00:00:00.000000Z",
    });
  });

  test("in current versions, with the name in the body", async () => {
    const update = async (call: ApiWorld["call"]): Promise<void> => {
      const { json } = await call(
        "POST",
        configMaps,
        { metadata: { name: "a" } },
        { host: "server" },
      );
      await call("PUT", `${configMaps}/a`, json);
    };
    expect(await auditOf("v1", update)).toMatchInlineSnapshot(`
      [
        {
          "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "",
          },
          "apiVersion": "audit.k8s.io/v1",
          "auditID": "65e72486-3ec5-48ff-8f97-734a23a11dbf",
          "kind": "Event",
          "level": "Metadata",
          "objectRef": {
            "apiVersion": "v1",
            "name": "a",
            "namespace": "default",
            "resource": "configmaps",
            "resourceVersion": "6",
            "uid": "1af27f35-cd27-4709-a8f3-c0046e3e8a2e",
          },
          "requestReceivedTimestamp": "2026-01-01T00:00:00.002000Z",
          "requestURI": "/api/v1/namespaces/default/configmaps/a",
          "responseStatus": {
            "code": 200,
            "metadata": {},
          },
          "sourceIPs": [
            "192.168.0.1",
          ],
          "stage": "ResponseComplete",
          "stageTimestamp": "2026-01-01T00:00:00.002000Z",
          "user": {
            "groups": [
              "system:masters",
              "system:authenticated",
            ],
            "username": "admin",
          },
          "userAgent": "kubectl/v1",
          "verb": "update",
        },
      ]
    `);
  });

  test("with why it was refused", async () => {
    const miss = async (call: ApiWorld["call"]): Promise<void> => {
      await call("GET", `${configMaps}/none`);
    };
    const [event] = await auditOf("v1", miss);
    expect(event).toMatchObject({
      verb: "get",
      responseStatus: {
        metadata: {},
        status: "Failure",
        message: 'configmaps "none" not found',
        reason: "NotFound",
        details: { name: "none", kind: "configmaps" },
        code: 404,
      },
    });
  });
});

test("with access control it has the impersonated user, the decision and its reason", async () => {
  const asBob = { headers: { "impersonate-user": "bob", "user-agent": "kubectl/v1" } };
  const events = await auditOf(
    "v1",
    async (call) => {
      await call("GET", configMaps, undefined, asBob);
      await call("GET", "/version", undefined, { token: "" });
      await call("GET", "/apis/none.example/v1/things/x", undefined, { token: "other-token" });
      await call("GET", configMaps, undefined, { token: "wrong" });
    },
    ["RequestReceived"],
    { authorization: "RBAC" },
  );
  const shown = events.map(({ stage, user, impersonatedUser, objectRef, annotations }) => ({
    stage,
    user,
    impersonatedUser,
    objectRef,
    annotations,
  }));
  expect(shown).toMatchInlineSnapshot(`
    [
      {
        "annotations": {
          "authorization.k8s.io/decision": "forbid",
          "authorization.k8s.io/reason": "",
        },
        "impersonatedUser": {
          "groups": [
            "system:authenticated",
          ],
          "username": "bob",
        },
        "objectRef": {
          "apiVersion": "v1",
          "namespace": "default",
          "resource": "configmaps",
        },
        "stage": "ResponseComplete",
        "user": {
          "groups": [
            "system:masters",
            "system:authenticated",
          ],
          "username": "admin",
        },
      },
      {
        "annotations": {
          "authorization.k8s.io/decision": "allow",
          "authorization.k8s.io/reason": "RBAC: allowed by ClusterRoleBinding "system:public-info-viewer" of ClusterRole "system:public-info-viewer" to Group "system:unauthenticated"",
        },
        "impersonatedUser": undefined,
        "objectRef": undefined,
        "stage": "ResponseComplete",
        "user": {
          "groups": [
            "system:unauthenticated",
          ],
          "username": "system:anonymous",
        },
      },
      {
        "annotations": {
          "authorization.k8s.io/decision": "forbid",
          "authorization.k8s.io/reason": "",
        },
        "impersonatedUser": undefined,
        "objectRef": {
          "apiGroup": "none.example",
          "apiVersion": "v1",
          "name": "x",
          "resource": "things",
        },
        "stage": "ResponseComplete",
        "user": {
          "groups": [
            "system:authenticated",
          ],
          "username": "other",
        },
      },
      {
        "annotations": undefined,
        "impersonatedUser": undefined,
        "objectRef": {
          "apiVersion": "v1",
          "namespace": "default",
          "resource": "configmaps",
        },
        "stage": "ResponseStarted",
        "user": {},
      },
    ]
  `);
});

test("a watch is audited when it begins and when it ends, under one id", async () => {
  const watch = async (call: ApiWorld["call"]): Promise<void> => {
    await call("GET", `${configMaps}?watch=true&timeoutSeconds=1`);
  };
  const events = await auditOf("v1", watch);
  expect(events.map((event) => summary(event))).toEqual([
    "ResponseStarted watch 200",
    "ResponseComplete watch 200",
  ]);
  expect(new Set(events.map((event) => event["auditID"])).size).toBe(1);
});

test("the policy leaves out stages, and requests that fail authentication are not audited", async () => {
  const events = await auditOf(
    "v1",
    async (call) => {
      await create(call);
      await call("GET", "/healthz");
      await call("GET", configMaps, undefined, { token: "wrong" });
    },
    ["ResponseStarted"],
  );
  expect(events.map((event) => summary(event))).toEqual([
    "RequestReceived create",
    "ResponseComplete create 201",
  ]);
});

function summary(event: RawRecord): string {
  const code = optionalNumber(recordAt(event, "responseStatus"), "code");
  const words = [optionalString(event, "stage"), optionalString(event, "verb"), code];
  return words.filter((word) => word !== undefined).join(" ");
}
