import { expect, test } from "vitest";
import {
  at,
  judged,
  ObservedClusters,
  pod,
  request,
  service,
  slice,
  time,
  web1,
} from "../../tests/blame/blame-world.ts";
import { recordAt } from "../kube/kinds/fields.ts";
import type { Evidence } from "./evidence.ts";
import { addGoneBeforeRecording } from "./listed-gone.ts";

const inList = (seconds: number) => ({ atMs: at(seconds), isWatched: false, afterMs: undefined });

/**
 * A recording that begins at 105 s: the pods were listed, without the pod that the service lists.
 */
function begun(listed: "all" | "shop" | "other"): ObservedClusters {
  const observed = new ObservedClusters();
  const { evidence } = observed;
  const list = evidence.beginList();
  const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
  const changed = slice([web1, { ip: "10.0.0.2", uid: "uid-web-2" }]);
  const annotations = { "endpoints.kubernetes.io/last-change-trigger-time": time(60) };
  const metadata = { ...recordAt(changed, "metadata"), annotations };
  for (const [kind, object] of [
    ["Service", service()],
    ["Pod", other],
    ["EndpointSlice", { ...changed, metadata }],
  ] as const) {
    evidence.add({ cluster: "prod", kind, isDeleted: false, object, seen: inList(105) });
  }
  const place = {
    cluster: "prod",
    kind: "Pod",
    ...(listed !== "all" && { namespace: listed }),
  } as const;
  evidence.endList(place, list, inList(105));
  addGoneBeforeRecording(evidence);
  observed.saw(140, "EndpointSlice", slice([{ ip: "10.0.0.2", uid: "uid-web-2" }]));
  return observed;
}

const isKnown = ({ lives }: Evidence): boolean => lives.byUid("uid-web-1") !== undefined;

test("a pod that is listed, and is not among the pods, had gone before they were recorded", () => {
  expect(judged(begun("all"), request(120, [{}]))).toMatchInlineSnapshot(`
    [
      "certain: published late",
      "10.0.0.1:8080 was pod shop/web-1 in prod. Pod deleted at 12:01:00–12:01:45 (15 s to 1 min before the request). The service's endpoints in prod still listed it 15 s to 1 min later, until 35 s to 1 min 20 s after the change.",
    ]
  `);
  expect(judged(begun("shop"), request(150, [{}]))[0]).toBe("certain: published late");
  expect(judged(begun("all"), request(120, [{ address: "10.0.0.2" }]))[0]).toBe(
    "likely: application",
  );
});

test("no pod counts as missing if pods were not listed", () => {
  expect(isKnown(begun("all").evidence)).toBe(true);
  expect(isKnown(begun("other").evidence)).toBe(false);
});
