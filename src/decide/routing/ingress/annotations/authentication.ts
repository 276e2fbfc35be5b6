// Authentication of clients. A setting that cannot be applied closes the route: a protected route
// is never open by mistake.

import { shown } from "../../shown-text.ts";
import { type AnnotationGroup, present, seenInProblems } from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import { oneOf, type Parse, realm } from "../annotation-values.ts";
import type { BasicAuthentication, IngressSettings } from "../ingress-settings.ts";

const closing = "so every request is answered with 503";

const closed: Partial<IngressSettings> = { policy: { closed: true } };

export const clientCertificates: AnnotationGroup = {
  names: ["auth-tls-secret"],
  read: (annotations) => {
    const what = `this kind of authentication is not supported, ${closing}`;
    annotations.report("auth-tls-secret", what, "RouteClosed");
    return closed;
  },
};

const typeName = "auth-type";
const secretName = "auth-secret";
const formName = "auth-secret-type";
const realmName = "auth-realm";

/** The text that browsers show beside the fields for name and password. */
const usualRealm = "Authentication required";

export const passwords: AnnotationGroup = {
  names: [typeName, secretName, formName, realmName],
  differences: {
    [typeName]: seenInProblems,
    [secretName]: seenInProblems,
    [realmName]: seenInProblems,
  },
  read: (annotations) => {
    if (!annotations.has(typeName)) {
      for (const name of [secretName, formName, realmName].filter((one) => annotations.has(one))) {
        annotations.report(name, `it needs ${typeName}, so it is ignored`);
      }
      return {};
    }
    const basicAuth = basicAuthOf(annotations);
    return basicAuth === undefined ? closed : present({ basicAuth });
  },
};

/** Undefined when the route is to be closed, which is reported. */
function basicAuthOf(annotations: AnnotationReader): BasicAuthentication | undefined {
  const type = readOrClose(annotations, typeName, oneOf({ basic: "basic" as const }));
  const form = annotations.has(formName)
    ? readOrClose(annotations, formName, oneOf({ "auth-file": "file", "auth-map": "map" } as const))
    : "file";
  if (!annotations.has(secretName)) {
    annotations.report(typeName, `${secretName} is missing, ${closing}`, "RouteClosed");
    return undefined;
  }
  const secret = readOrClose(annotations, secretName, secretReference);
  if (type === undefined || form === undefined || secret === undefined) return undefined;
  const shownRealm = annotations.read(realmName, realm, `so ${usualRealm} is used`) ?? usualRealm;
  return { ...secret, form, realm: shownRealm };
}

function readOrClose<Value>(
  annotations: AnnotationReader,
  name: string,
  parse: Parse<Value>,
): Value | undefined {
  const parsed = parse(annotations.text(name));
  if ("value" in parsed) return parsed.value;
  annotations.report(name, `${parsed.problem}, ${closing}`, "RouteClosed");
  return undefined;
}

/** `name`, or `namespace/name`. */
const secretReference: Parse<Pick<BasicAuthentication, "namespace" | "name">> = (text) => {
  const [, namespace, name] =
    /^(?:([a-z0-9-]{1,63})\/)?([a-z0-9][-a-z0-9.]{0,252})$/.exec(text) ?? [];
  if (name !== undefined) return { value: { namespace, name } };
  return { problem: `${shown(text)} is not the name of a secret` };
};
