import { expect, test } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { listAt, numberAt, textAt } from "../../apiserver/kinds/fields.ts";
import { Klog } from "../../components/klog.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";
import { EventRecorder, type EventText } from "./event-recorder.ts";
import { controllerFlags } from "./flags.ts";

const set = { kind: "ReplicaSet", namespace: "default", name: "web-1", uid: "u", apiVersion: "a" };

/** Each text recorded about the same object; what the server holds then, and what the log says. */
async function recorded(name: ProfileName, v: number, texts: readonly EventText[]) {
  const events: (readonly [string, number])[] = [];
  const lines: string[] = [];
  await inApiWorld(async ({ simulation, call }) => {
    const environment = simulation.host("master");
    const profile = profileNamed(name);
    const access = { name: "lab", server: "https://server:6443", token: "admin-token" };
    const cluster = fixedAccess(access);
    const klog = new Klog(environment);
    const recorder = new EventRecorder({
      ...environment,
      client: new HttpKubeClient({ ...environment, cluster, userAgent: "controller" }),
      klog,
      profile,
      flags: controllerFlags(profile, { v }),
      component: "replicaset-controller",
      logger: "replicaset-controller",
      signal: new AbortController().signal,
    });
    for (const text of texts) {
      recorder.record(set, text);
      await simulation.sleep(1000);
    }
    await recorder.settled();
    const { json } = await call("GET", "/api/v1/namespaces/default/events");
    for (const event of listAt(json, "items")) {
      events.push([textAt(event, "message"), numberAt(event, "count") ?? 0]);
    }
    lines.push(...klog.lines().map(({ text }) => text.slice(text.indexOf(" 1 ") + 3)));
  });
  return { events, lines };
}

function created(pod: number): EventText {
  return { type: "Normal", reason: "SuccessfulCreate", message: `Created pod: ${pod}` };
}

test("the tenth different event of a kind stands for all that follow, and each is logged", async () => {
  const pods = Array.from({ length: 12 }, (_, pod) => created(pod + 1));
  const { events, lines } = await recorded("1.17.3", 0, pods);
  expect(events).toEqual([
    ...pods.slice(0, 9).map(({ message }) => [message, 1]),
    ["(combined from similar events): Created pod: 12", 3],
  ]);
  expect(lines).toEqual(
    pods.map(
      ({ message }) =>
        'event.go:281] Event(v1.ObjectReference{Kind:"ReplicaSet", Namespace:"default", ' +
        'Name:"web-1", UID:"u", APIVersion:"a", ResourceVersion:"", FieldPath:""}): ' +
        `type: 'Normal' reason: 'SuccessfulCreate' ${message}`,
    ),
  );
});

test("the same event only raises a count, and is dropped after a burst", async () => {
  const same = Array.from({ length: 30 }, () => created(1));
  expect((await recorded("1.33", 0, same)).events).toEqual([["Created pod: 1", 25]]);
  expect((await recorded("1.7", 0, same)).events).toEqual([["Created pod: 1", 30]]);
});

test("1.33 logs events from verbosity 3 on, as keys and values", async () => {
  expect((await recorded("1.33", 2, [created(1)])).lines).toEqual([]);
  expect((await recorded("1.33", 3, [created(1)])).lines).toEqual([
    'event.go:389] "Event occurred" logger="replicaset-controller" object="default/web-1" ' +
      'fieldPath="" kind="ReplicaSet" apiVersion="a" type="Normal" reason="SuccessfulCreate" ' +
      'message="Created pod: 1"',
  ]);
});
