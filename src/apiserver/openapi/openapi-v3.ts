// OpenAPI version 3: one document for each group and version.
import type { JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { definitionsFor, type ExtraType, reference } from "./definitions.ts";
import {
  type Operation,
  type Parameter,
  type PathItem,
  pathItems,
  subresourceTypes,
} from "./operations.ts";

/** `kinds` are those of one group and version. */
export function openApiV3(kinds: readonly ResourceKind[], version: string): JsonObject {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version },
    paths: Object.fromEntries(
      kinds.flatMap(pathItems).map((item) => [item.path, describePath(item)]),
    ),
    components: {
      schemas: definitionsFor(kinds, typesOfSubresources(kinds)),
      securitySchemes: {
        BearerToken: { type: "apiKey", name: "authorization", in: "header" },
      },
    },
  };
}

export function typesOfSubresources(kinds: readonly ResourceKind[]): readonly ExtraType[] {
  return kinds.flatMap((kind) => kind.subresources.flatMap((name) => subresourceTypes[name] ?? []));
}

export const answerTypes = [
  "application/json",
  "application/vnd.kubernetes.protobuf",
  "application/yaml",
];
export const listAnswerTypes = [
  "application/json",
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf",
  "application/vnd.kubernetes.protobuf;stream=watch",
  "application/yaml",
];

function describePath({ operations, parameters }: PathItem): JsonObject {
  return {
    ...Object.fromEntries(operations.map((one) => [one.method, describeOperation(one)])),
    parameters: parameters.map(describeParameter),
  };
}

function describeOperation(operation: Operation): JsonObject {
  const { parameters, body } = operation;
  return {
    tags: [operation.tag],
    operationId: operation.operationId,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(describeParameter) }),
    ...(body === undefined
      ? {}
      : { requestBody: { content: contentOf(body.types, reference(body.definition)) } }),
    responses: describeAnswers(operation),
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": operation.gvk,
  };
}

function describeAnswers({ answer, answerCodes, isList }: Operation): JsonObject {
  const schema = answer === undefined ? { type: "string" } : reference(answer);
  const text = answer === undefined ? ["text/plain"] : [];
  const content = contentOf([...(isList ? listAnswerTypes : answerTypes), ...text], schema);
  return {
    ...Object.fromEntries(
      answerCodes.map((code) => [String(code), { description: descriptions[code], content }]),
    ),
    "401": { description: "Unauthorized" },
  };
}

export const descriptions: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
};

function contentOf(types: readonly string[], schema: JsonObject): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function describeParameter(parameter: Parameter): JsonObject {
  return {
    name: parameter.name,
    in: parameter.in,
    ...(parameter.in === "path" ? { required: true } : {}),
    schema: { type: parameter.type, uniqueItems: true },
  };
}
