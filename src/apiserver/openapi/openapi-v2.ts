// OpenAPI version 2: one document for the whole server, which older clients read to know the types
// of kinds and the features of a server.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { definitionsFor } from "./definitions.ts";
import { answerTypes, descriptions, listAnswerTypes, typesOfSubresources } from "./openapi-v3.ts";
import { type Operation, type Parameter, type PathItem, pathItems } from "./operations.ts";

export function openApiV2(kinds: readonly ResourceKind[], version: string): JsonObject {
  const definitions = definitionsFor(kinds, typesOfSubresources(kinds));
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version },
    paths: Object.fromEntries(
      kinds.flatMap(pathItems).map((item) => [item.path, describePath(item)]),
    ),
    definitions: Object.fromEntries(
      Object.entries(definitions).map(([name, definition]) => [name, asVersion2(definition)]),
    ),
    securityDefinitions: {
      BearerToken: { type: "apiKey", name: "authorization", in: "header" },
    },
    security: [{ BearerToken: [] }],
  };
}

/** Keywords that only version 3 has are left out. */
const onlyVersion3 = ["allOf", "anyOf", "default", "not", "nullable", "oneOf"];

/** Left out if a value may also have another type. */
const typeParts = ["additionalProperties", "items", "properties", "type"];

/** A type of version 3 in the form of version 2. */
function asVersion2(schema: JsonObject): JsonObject {
  const { $ref, allOf } = schema;
  const [wrapped] = Array.isArray(allOf) ? allOf : [];
  if (isJsonObject(wrapped) && typeof wrapped["$ref"] === "string") {
    return { ...withoutVersion3(schema), ...asVersion2(wrapped) };
  }
  if (typeof $ref === "string") {
    return { $ref: $ref.replace("#/components/schemas/", "#/definitions/") };
  }
  if (schema["format"] === "int-or-string" || isTextOrNumber(schema)) {
    return { ...withoutVersion3(schema), type: "string" };
  }
  return withoutVersion3(schema);
}

function withoutVersion3(schema: JsonObject): JsonObject {
  const isOpen =
    schema["nullable"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const dropped = isOpen ? [...onlyVersion3, ...typeParts] : onlyVersion3;
  const kept = Object.entries(schema).filter(([key]) => !dropped.includes(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, convertPart(key, value)]));
}

function convertPart(key: string, value: unknown): unknown {
  if (key === "properties" && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([field, one]) => [
        field,
        isJsonObject(one) ? asVersion2(one) : one,
      ]),
    );
  }
  const isType = key === "items" || key === "additionalProperties";
  return isType && isJsonObject(value) ? asVersion2(value) : value;
}

/** Quantities. */
function isTextOrNumber({ oneOf, type }: JsonObject): boolean {
  return type === undefined && Array.isArray(oneOf);
}

function describePath({ operations, parameters }: PathItem): JsonObject {
  return {
    ...Object.fromEntries(operations.map((one) => [one.method, describeOperation(one)])),
    parameters: parameters.map(describeParameter),
  };
}

function describeOperation(operation: Operation): JsonObject {
  const { parameters, body, isList } = operation;
  const bodyParameter = body && {
    name: "body",
    in: "body",
    required: operation.method !== "delete",
    schema: definitionReference(body.definition),
  };
  return {
    consumes: body?.types ?? ["*/*"],
    produces: isList ? listAnswerTypes : answerTypes,
    schemes: ["https"],
    tags: [operation.tag],
    operationId: operation.operationId,
    parameters: [
      ...(bodyParameter === undefined ? [] : [bodyParameter]),
      ...parameters.map(describeParameter),
    ],
    responses: describeAnswers(operation),
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": operation.gvk,
  };
}

function describeAnswers({ answer, answerCodes }: Operation): JsonObject {
  const schema = answer === undefined ? { type: "string" } : definitionReference(answer);
  return {
    ...Object.fromEntries(
      answerCodes.map((code) => [String(code), { description: descriptions[code], schema }]),
    ),
    "401": { description: "Unauthorized" },
  };
}

function describeParameter(parameter: Parameter): JsonObject {
  return {
    uniqueItems: true,
    type: parameter.type,
    name: parameter.name,
    in: parameter.in,
    ...(parameter.in === "path" ? { required: true } : {}),
  };
}

function definitionReference(name: string): JsonObject {
  return { $ref: `#/definitions/${name}` };
}
