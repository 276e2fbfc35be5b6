// A client that writes objects again and again without changing them. Each write costs a request of its
// limit and work of the API server; watchers see nothing of it.

import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Conclusion, Sign } from "../cause.ts";
import type { Writer } from "../evidence/audit-trail.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText } from "../evidence/sign-log.ts";

/** A rollout repeats a few writes. */
const noOpsMin = 200;

/** So often an object without addresses is not written, unless a comparison is wrong. */
const emptyWritesMin = 5;

/** A controller that mostly changes something is at work. */
const noOpShare = 0.8;

export const noOpWrites: Cause = {
  name: "no-op-writes",
  summary:
    "A client writes objects again and again although nothing changes. Its own real changes wait " +
    "behind these writes, and the API server does work for nothing.",
  affected: "All versions, current ones included; it depends on the client that writes.",
  shownBy: ["audit log"],
  hop: "published",
  explains: [],

  signs(evidence) {
    const [writer] = idleWriters(evidence);
    if (writer === undefined) return emptyWrites(evidence);
    const { user, noOps, writes, noOpObjects, firstMs, lastMs, place } = writer;
    const text =
      `${noOps} of ${writes} writes of ${user} changed nothing: ${noOpObjects.size} objects within ` +
      durationText(lastMs - firstMs);
    return [{ weight: "proof", source: "logs", lines: [{ text, source: placeText(place) }] }];
  },

  conclude(evidence) {
    const [writer] = idleWriters(evidence);
    if (writer === undefined) return ofEmptyEndpoints;
    const { user } = writer;
    const resource = mostOf(writer.resources);
    const perObject = writer.noOps / Math.max(1, writer.noOpObjects.size);
    return {
      severity: "warning",
      cause: `${user} writes ${resource} again and again although nothing changes, from ${mostOf(writer.addresses)}.`,
      fix: {
        component: user,
        change: `# audit log: jq 'select(.user.username=="${user}" and .verb=="update") | .objectRef.name'`,
        reason:
          perObject < 2
            ? "Each object was written once: a resync or a start of the controller. Compare what it sends " +
              "with what is stored; a field or a label that it does not expect is different."
            : "The same objects are written again and again: the controller compares with something that " +
              "is never equal. Look for a default, an order of a list, or a field that another client owns.",
      },
      missing:
        evidence.settings.version === undefined
          ? ["kubectl version   # 1.16 to 1.19 and 1.33 have known reasons"]
          : [],
    };
  },
};

/** The most no-op writes first. */
export function idleWriters({ objects }: Evidence): readonly Writer[] {
  return [...objects.audit.writers.values()]
    .filter(({ noOps, writes }) => noOps >= noOpsMin && noOps >= noOpShare * writes)
    .sort((a, b) => b.noOps - a.noOps);
}

/** The Endpoints of a service without pods, written again and again: there is nothing to write. */
function emptyWrites({ signs, objects }: Evidence): readonly Sign[] {
  const group = signs.get("endpoints-written");
  const [path = ""] = group?.topSubjects(1) ?? [];
  if (group === undefined || group.mostOfOne < emptyWritesMin) return [];
  const name = /\/endpoints\/([^/?]+)/.exec(path)?.[1] ?? "";
  // A table does not name its namespace.
  const alike = [...objects.endpoints.values()].filter(({ key }) => key.endsWith(`/${name}`));
  const [empty] = alike;
  if (alike.some(({ ready, notReady }) => ready + notReady > 0)) return [];
  const text = `${path} was written ${group.mostOfOne} times within ${durationText(group.spanMs)}`;
  if (empty === undefined) {
    // A log in which one object alone is written; in others a busy service is one of many.
    const isAlone = group.subjects.size === 1;
    return isAlone ? [{ weight: "support", source: "logs", lines: [group.evidence(text)] }] : [];
  }
  const none = `the Endpoints ${name} have no address`;
  return [
    { weight: "proof", source: "logs", lines: [group.evidence(text)] },
    {
      weight: "support",
      source: "objects",
      lines: [{ text: none, source: placeText(empty.place) }],
    },
  ];
}

const ofEmptyEndpoints: Conclusion = {
  severity: "warning",
  cause:
    "The endpoint controller writes the Endpoints of a service without pods again and again, although " +
    "nothing changes.",
  fix: {
    component: "kube-controller-manager",
    change: "upgrade to 1.6 or newer; until then give the service a pod, or delete it",
    reason:
      "Old versions compare a list without entries with no list, which is never equal. Each write is sent " +
      "to every proxy.",
  },
  missing: [
    "kubectl get endpoints of that service: it is written for nothing if it has no address",
  ],
};

function mostOf(counts: ReadonlyMap<string, number> | undefined): string {
  return [...(counts ?? [])].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "an unknown address";
}
