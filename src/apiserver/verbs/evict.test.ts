// pods/eviction. The answers were compared with those of kube-apiserver 1.36.
import { expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { objectAt, objectsAt, textAt } from "../kinds/fields.ts";

const success = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code: 201,
};

function eviction(name: string, deleteOptions?: object): object {
  return { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, deleteOptions };
}

test("an evicted pod has the reason in its status and keeps its grace period", () =>
  inApiWorld(async ({ call }) => {
    await call("POST", pods, pod("a", { nodeName: "n1" }));
    const before = await call("POST", `${pods}/a/eviction?dryRun=All`, eviction("a"));
    expect(before.json).toEqual(success);
    expect(objectAt((await call("GET", `${pods}/a`)).json, "metadata")).not.toHaveProperty(
      "deletionTimestamp",
    );
    const body = eviction("a", { gracePeriodSeconds: 7 });
    expect((await call("POST", `${pods}/a/eviction`, body)).json).toEqual(success);
    const { json } = await call("GET", `${pods}/a`);
    expect(objectAt(json, "metadata")?.["deletionGracePeriodSeconds"]).toBe(7);
    const [condition] = objectsAt(json, "status", "conditions");
    expect(condition).toEqual({
      type: "DisruptionTarget",
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: "2026-01-01T00:00:00Z",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
    });
  }));

test("an eviction names its pod, and may insist on one", () =>
  inApiWorld(async ({ call }) => {
    const { json } = await call("POST", pods, pod("a"));
    const uid = textAt(json, "metadata", "uid");
    expect((await call("POST", `${pods}/a/eviction`, eviction("b"))).json).toEqual(
      failure(400, "BadRequest", "name in URL does not match name in Eviction object"),
    );
    expect((await call("POST", `${pods}/b/eviction`, eviction("b"))).json).toEqual(
      failure(404, "NotFound", 'pods "b" not found', { name: "b", kind: "pods" }),
    );
    const other = eviction("a", { preconditions: { uid: "wrong" } });
    expect((await call("POST", `${pods}/a/eviction`, other)).json).toEqual(
      failure(
        409,
        "Conflict",
        'Operation cannot be fulfilled on Pod "a": the UID in the precondition (wrong) does not ' +
          `match the UID in record (${uid}). The object might have been deleted and then recreated`,
        { name: "a", kind: "Pod" },
      ),
    );
    const version = textAt(json, "metadata", "resourceVersion");
    const same = eviction("a", { preconditions: { uid, resourceVersion: version } });
    expect((await call("POST", `${pods}/a/eviction`, same)).json).toEqual(success);
  }));
