// Small pieces of answers and checks that several verbs share.
import { badRequest } from "../decode/body.ts";
import { type JsonObject, textAt } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";

/** The Status of a request that went well and has no object to show. */
export function successStatus(code: number, kind?: ResourceKind, object?: KubeObject): JsonObject {
  const details =
    kind === undefined || object === undefined
      ? {}
      : {
          details: {
            name: object.metadata.name,
            ...(kind.group === "" ? {} : { group: kind.group }),
            kind: kind.resource,
            uid: object.metadata.uid,
          },
        };
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    ...details,
    ...(code === 200 ? {} : { code }),
  };
}

/** A PUT names its object twice, and both must agree. */
export function checkNameInBody(value: JsonObject, name: string): void {
  const given = textAt(value, "metadata", "name");
  if (given === "") {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (given !== name) {
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    );
  }
}
