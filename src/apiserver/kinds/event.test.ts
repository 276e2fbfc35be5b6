// Events in two groups: the same objects, in two forms.
import { describe, expect, test } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { objectAt, textAt } from "./fields.ts";

const core = "/api/v1/namespaces/default/events";
const events = "/apis/events.k8s.io/v1/namespaces/default/events";

const event = {
  metadata: { name: "a" },
  eventTime: "2026-01-02T03:04:05.000006Z",
  reportingController: "lockstep.test/tester",
  reportingInstance: "tester-1",
  action: "Testing",
  reason: "Tested",
  type: "Normal",
  note: "all is well",
  regarding: { kind: "Pod", namespace: "default", name: "p" },
};

describe("an event", () => {
  test("made in events.k8s.io is a core event of the same version, and back", () =>
    inApiWorld(async ({ call }) => {
      const made = await call("POST", events, event);
      expect(made.status).toBe(201);
      const { json } = await call("GET", `${core}/a`);
      expect(json).toMatchObject({
        kind: "Event",
        apiVersion: "v1",
        eventTime: event.eventTime,
        involvedObject: event.regarding,
        message: event.note,
        reportingComponent: event.reportingController,
        reportingInstance: event.reportingInstance,
      });
      const version = textAt(made.json, "metadata", "resourceVersion");
      expect(textAt(json, "metadata", "resourceVersion")).toBe(version);
      expect((await call("GET", `${events}/a`)).json).toEqual(made.json);
    }));

  test("of the old form is shown in events.k8s.io under its deprecated names", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", core, {
        metadata: { name: "old" },
        involvedObject: { kind: "Pod", namespace: "default", name: "p" },
        count: 3,
        source: { component: "kubelet" },
        firstTimestamp: "2026-01-02T03:04:05Z",
      });
      const { json } = await call("GET", `${events}?fieldSelector=regarding.name=p`);
      expect(json).toMatchObject({
        kind: "EventList",
        apiVersion: "events.k8s.io/v1",
        items: [
          {
            deprecatedCount: 3,
            deprecatedSource: { component: "kubelet" },
            deprecatedFirstTimestamp: "2026-01-02T03:04:05Z",
            regarding: { name: "p" },
          },
        ],
      });
    }));

  test("in events.k8s.io keeps to stricter rules, and only its series changes", () =>
    inApiWorld(async ({ call }) => {
      const bare = { metadata: { name: "b" }, regarding: event.regarding, deprecatedCount: 1 };
      const refused = await call("POST", events, bare);
      expect(textAt(refused.json, "message")).toBe(
        'Event "b" is invalid: [eventTime: Required value, ' +
          'type: Invalid value: "": has invalid value: , count: Invalid value: "": needs to be unset]',
      );
      await call("POST", events, event);
      const patch = (body: object) =>
        call("PATCH", `${events}/a`, body, { contentType: "application/merge-patch+json" });
      const changed = await patch({ note: "all is lost" });
      expect(textAt(changed.json, "message")).toBe(
        'Event "a" is invalid: message: Invalid value: "all is lost": field is immutable',
      );
      const series = { count: 2, lastObservedTime: "2026-01-02T03:04:06.000000Z" };
      expect(objectAt((await patch({ series })).json, "series")).toEqual(series);
    }));
});
