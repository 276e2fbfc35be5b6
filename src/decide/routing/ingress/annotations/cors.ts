// Cross-origin requests, with the defaults that people know from ingress-nginx.

import { shown } from "../../shown-text.ts";
import { type AnnotationGroup, seenInProblems } from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import {
  boolean,
  isWord,
  itemsOf,
  list,
  type Parse,
  token,
  wholeNumber,
} from "../annotation-values.ts";

const usualMethods = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];

const usualHeaders = [
  "DNT",
  "Keep-Alive",
  "User-Agent",
  "X-Requested-With",
  "If-Modified-Since",
  "Cache-Control",
  "Content-Type",
  "Range",
  "Authorization",
];

const usualMaxAgeSeconds = 1_728_000;
const maxMaxAgeSeconds = 100_000_000;

export const cors: AnnotationGroup = {
  names: [
    "enable-cors",
    "cors-allow-origin",
    "cors-allow-methods",
    "cors-allow-headers",
    "cors-expose-headers",
    "cors-allow-credentials",
    "cors-max-age",
  ],
  differences: {
    "enable-cors": ({ value }) =>
      isWord(value, true)
        ? "OPTIONS without Origin goes to the endpoint; ingress-nginx answers it"
        : undefined,
    "cors-allow-origin": seenInProblems,
  },
  read: (annotations) => {
    if (annotations.read("enable-cors", boolean) !== true) return {};
    const isGiven = annotations.text("cors-allow-origin").trim() !== "";
    const origins = isGiven ? originsOf(annotations) : ["*"];
    const methods = annotations.read("cors-allow-methods", list(method));
    const headers = annotations.read("cors-allow-headers", list(token));
    const age = wholeNumber(0, maxMaxAgeSeconds);
    return {
      policy: {
        cors: {
          allowOrigins: origins.includes("*") ? ["*"] : origins,
          allowMethods: methods ?? usualMethods,
          allowHeaders: headers ?? usualHeaders,
          exposeHeaders: annotations.read("cors-expose-headers", list(token)) ?? [],
          allowCredentials: annotations.read("cors-allow-credentials", boolean) ?? true,
          maxAgeSeconds: annotations.read("cors-max-age", age) ?? usualMaxAgeSeconds,
        },
      },
    };
  },
};

/** No hand-written list is longer than this. */
const maxOrigins = 1_000;

/** An invalid item allows no page; the others stay valid. */
function originsOf(annotations: AnnotationReader): readonly string[] {
  const name = "cors-allow-origin";
  const items = itemsOf(annotations.text(name));
  if (items.length > maxOrigins) {
    annotations.report(name, `only its first ${maxOrigins} origins are allowed`);
  }
  const origins: string[] = [];
  for (const item of items.slice(0, maxOrigins)) {
    const parsed = origin(item);
    if ("value" in parsed) origins.push(parsed.value);
    else annotations.report(name, `${parsed.problem}, so that item is ignored`);
  }
  if (origins.length === 0)
    annotations.report(name, "it has no valid origin, so no origin is allowed");
  return origins;
}

const originForm =
  /^[a-z][a-z0-9+.-]{0,30}:\/\/(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/i;

const origin: Parse<string> = (text) =>
  text === "*" || text === "null" || originForm.test(text)
    ? { value: text }
    : { problem: `${shown(text)} is not an origin such as "https://*.example.com"` };

const method: Parse<string> = (text) =>
  /^[A-Za-z]{1,32}$/.test(text)
    ? { value: text.toUpperCase() }
    : { problem: `${shown(text)} is not a method such as "GET"` };
