// The form of an answer for an Accept header. Each case was compared with kube-apiserver 1.36.
import { describe, expect, test } from "vitest";
import { ApiError } from "../api-error.ts";
import { negotiate, negotiateRefusal } from "./negotiate.ts";

const table = "as=Table;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";

/** `application/json Table/v1 pretty`, or the refusal's message. */
function chosen(accept: string | undefined, asked: Parameters<typeof negotiate>[1]): string {
  try {
    const { mediaType, conversion, pretty } = negotiate(accept, asked);
    const shape = conversion && `${conversion.kind}/${conversion.version}`;
    return [mediaType, shape, pretty ? "pretty" : undefined].filter(Boolean).join(" ");
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const noObject =
  "406 only the following media types are accepted: " +
  "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const noRoute =
  "406 406: Not Acceptable\n\nAvailable representations: " +
  "application/json, application/yaml, application/vnd.kubernetes.protobuf";

describe("an Accept header", () => {
  test.each<[string | undefined, string]>([
    [undefined, "application/json"],
    [" ", "application/json"],
    ["*/*", "application/json"],
    ["text/html,*/*;q=0.1", "application/json"],
    ["application/yaml", "application/yaml"],
    ["application/json;q=0", "application/json"],
    ["application/yaml;q=0.5,application/json;q=0.9", "application/json"],
    ["application/json;q=0.4,application/yaml;q=0.5", "application/yaml"],
    ["application/json; charset=utf-8", "application/json"],
    ["application/json;pretty=1", "application/json pretty"],
    ["application/json;stream=watch", "application/json"],
    ["application/json;stream=foo", noObject],
    ["application/json;sv=v1", "application/json"],
    [`application/json;${table}`, "application/json Table/v1"],
    [`application/yaml;${table}`, "application/yaml Table/v1"],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json Table/v1beta1"],
    ["application/json ;as=Table ; v=v1; g=meta.k8s.io", "application/json Table/v1"],
    [`application/json;${table};foo=bar`, "application/json Table/v1"],
    [`*/*;${table}`, "application/json Table/v1"],
    [
      `${protobuf};${table},application/json;${table},application/json`,
      "application/json Table/v1",
    ],
    [`application/json;${table};q=0.1,application/json`, "application/json"],
    ["application/json;as=Foo;v=v1;g=meta.k8s.io, application/yaml", "application/yaml"],
    [
      "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      "application/json PartialObjectMetadata/v1",
    ],
    [`${protobuf};${table}`, noObject],
    ["application/json;as=table;v=v1;g=meta.k8s.io", noObject],
    ["application/json;as=Table;v=v2;g=meta.k8s.io", noObject],
    ["application/json;as=Table", noObject],
    ["application/json;v=v1", noObject],
    ["text/plain,application/json;as=Foo;v=v1;g=meta.k8s.io", noObject],
    ["application/*", noRoute],
    ["*", noRoute],
    ["APPLICATION/JSON", noRoute],
    ["garbage", noRoute],
    ["application/cbor", noRoute],
  ])("%j means %j", (accept, expected) => {
    expect(chosen(accept, "object")).toBe(expected);
  });

  test("is refused with all media types of the path", () => {
    const stream =
      "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    expect(chosen("text/html", "list")).toBe(`${noRoute}, ${stream}`);
    expect(chosen("text/html", "log")).toBe(
      noRoute.replace("application/json", "text/plain, application/json"),
    );
    expect(chosen("text/plain", "log")).toBe("application/json");
    expect(chosen("application/yaml", "watch")).toBe(
      `406 only the following media types are accepted: ${stream}`,
    );
  });
});

test("an error is plain, and indented if the client accepts only other forms", () => {
  const pretty = { mediaType: "application/json", pretty: true, conversion: undefined };
  expect(negotiateRefusal(`application/json;${table}`)).toEqual(pretty);
  expect(negotiateRefusal("text/html")).toEqual(pretty);
  expect(negotiateRefusal(`application/json;${table},application/json`).pretty).toBe(false);
  expect(negotiateRefusal("application/yaml").mediaType).toBe("application/yaml");
});
