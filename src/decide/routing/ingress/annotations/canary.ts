// Canaries: an Ingress that gives a share of the requests of another one's rules to its own service.
import { type AnnotationGroup, present, seenInRoutes } from "../annotation-group.ts";
import {
  boolean,
  headerValue,
  regularExpression,
  token,
  wholeNumber,
} from "../annotation-values.ts";

/** Fine enough for one request in a million. */
const maxWeightTotal = 1_000_000;
const usualWeightTotal = 100;

const terms = [
  "canary-weight",
  "canary-weight-total",
  "canary-by-header",
  "canary-by-header-value",
  "canary-by-header-pattern",
  "canary-by-cookie",
] as const;

export const canary: AnnotationGroup = {
  names: ["canary", ...terms],
  differences: {
    canary: seenInRoutes,
    "canary-weight": ({ has }) =>
      has("affinity")
        ? "a session may move when the weight changes; a header or cookie has priority over it"
        : undefined,
    "canary-weight-total": ({ value }) =>
      Number(value) < usualWeightTotal
        ? "the total is used as given; 100 is the least in ingress-nginx"
        : undefined,
    "canary-by-header-pattern": ({ value }) =>
      "value" in regularExpression(value) ? undefined : "the header values always and never count",
  },
  read: (annotations) => {
    if (annotations.read("canary", boolean) !== true) {
      for (const name of terms.filter((one) => annotations.has(one))) {
        annotations.report(name, 'it needs canary: "true", so it is ignored');
      }
      return {};
    }
    const name = annotations.read("canary-by-header", token);
    const value = annotations.read("canary-by-header-value", headerValue);
    // As in ingress-nginx a value goes before a pattern.
    const pattern = annotations.read("canary-by-header-pattern", regularExpression);
    const match = value === undefined ? { pattern } : { value };
    const weightTotal =
      annotations.read("canary-weight-total", wholeNumber(1, maxWeightTotal)) ?? usualWeightTotal;
    const weight = annotations.read("canary-weight", wholeNumber(0, weightTotal)) ?? 0;
    return {
      canary: present({
        header: name === undefined ? undefined : { name, ...present(match) },
        cookie: annotations.read("canary-by-cookie", token),
        weight,
        weightTotal,
      }),
    };
  },
};
