// Query parameters of `GET …/pods/NAME/log`: validation, and the request for the part that has the
// lines.
import type { PodLogRequest } from "../../components/pod-logs.ts";
import { badRequest } from "../decode/body.ts";
import { timeLayout, timeProblem } from "../decode/go-time.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { objectsAt, textAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import { readInteger } from "../verbs/read-options.ts";
import { isTrue } from "./route.ts";

/** Refuses options that no log can answer, before the pod is looked up. */
export function checkPodLogOptions(name: string, query: URLSearchParams): void {
  const sinceTime = query.get("sinceTime") ?? "";
  const problem = sinceTime === "" ? undefined : timeProblem(sinceTime, timeLayout);
  if (problem !== undefined) throw badRequest(problem);
  const errors = new FieldErrors();
  const refuseBelow = (field: string, least: number, detail: string): void => {
    const value = readInteger(query, field);
    if (value !== undefined && value < least) errors.invalid(field, value, detail);
  };
  refuseBelow("tailLines", 0, "must be greater than or equal to 0");
  refuseBelow("limitBytes", 1, "must be greater than 0");
  if (sinceTime === "") {
    refuseBelow("sinceSeconds", 1, "must be greater than 0");
  } else if (readInteger(query, "sinceSeconds") !== undefined) {
    errors.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified");
  }
  // Asking for one stream alone is behind a feature gate that is off unless set.
  if (query.has("stream")) errors.forbidden("stream", "may not be specified");
  errors.throwIfAny({ group: "", kind: "PodLogOptions" }, name);
}

export function readPodLogRequest(pod: KubeObject, query: URLSearchParams): PodLogRequest {
  const { name, namespace = "", uid = "" } = pod.metadata;
  return {
    namespace,
    name,
    uid,
    container: chooseContainer(pod, query.get("container") ?? ""),
    follow: isTrue(query.get("follow")),
    previous: isTrue(query.get("previous")),
    timestamps: isTrue(query.get("timestamps")),
    tailLines: readInteger(query, "tailLines"),
    sinceSeconds: readInteger(query, "sinceSeconds"),
  };
}

function chooseContainer(pod: KubeObject, asked: string): string {
  const { name } = pod.metadata;
  const containers = objectsAt(pod, "spec", "containers").map((one) => textAt(one, "name"));
  const inits = objectsAt(pod, "spec", "initContainers").map((one) => textAt(one, "name"));
  const [only = ""] = containers;
  if (asked === "" && containers.length === 1) {
    return only;
  }
  if (asked === "") {
    const among = inits.length === 0 ? "" : ` or one of the init containers: [${inits.join(" ")}]`;
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: ` +
        `[${containers.join(" ")}]${among}`,
    );
  }
  if (!containers.includes(asked) && !inits.includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  return asked;
}
