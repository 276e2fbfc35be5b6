// Protobuf bodies recorded from kubectl, and broken ones.
import { describe, expect, test } from "vitest";
import { schemas } from "../kinds/schema.ts";
import { conform } from "./conform.ts";
import { decodeProtobuf, ProtobufError } from "./protobuf.ts";

// Bodies as kubectl 1.33 sends them.
const deployment =
  "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Er0BCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEosBCAASDAoKCgNhcHASA3dlYhpxChwKABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViElESMwoFbmdpbngSCm5naW54OjEuMjUqADIKCgAQABhQIgAqAEIAagByAIABAIgBAJABAKIBABoAMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAiAgoAKAA4ABoMCAAQABgAIAAoADgAGgAiAA==";
const secret = "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA=";
const service =
  "azhzAAoNCgJ2MRIHU2VydmljZRJsCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkUKHgoHODAtaHR0cBIDVENQGFAiCggBEAAaBGh0dHAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==";

const deleteOptions = Buffer.from(
  "k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x0e\x08\x00\x22\x0aBackground",
  "latin1",
).toString("base64");

const kinds = {
  DeleteOptions: { kind: "DeleteOptions", apiVersion: "", schema: "meta.v1.DeleteOptions" },
  Deployment: { kind: "Deployment", apiVersion: "apps/v1", schema: "apps.v1.Deployment" },
  Secret: { kind: "Secret", apiVersion: "v1", schema: "core.v1.Secret" },
  Service: { kind: "Service", apiVersion: "v1", schema: "core.v1.Service" },
} as const;

/** As the server goes on with it. */
function decoded(body: string, kind: keyof typeof kinds): object {
  const object = decodeProtobuf(Buffer.from(body, "base64"), kinds[kind]);
  return conform(kinds[kind].schema, object).value;
}

describe("a protobuf body", () => {
  test("decodes to the JSON form, with the zero values that Go encodes", () => {
    expect(decoded(deployment, "Deployment")).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "web" } },
        strategy: {},
        template: {
          metadata: { labels: { app: "web" } },
          spec: {
            containers: [
              {
                name: "nginx",
                image: "nginx:1.25",
                ports: [{ containerPort: 80, protocol: "TCP" }],
                resources: {},
              },
            ],
          },
        },
      },
      status: {},
    });
  });

  test("has bytes, and names or numbers for ports", () => {
    expect(decoded(secret, "Secret")).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      data: { a: "Yg==" },
    });
    expect(decoded(service, "Service")).toEqual({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        ports: [{ name: "80-http", port: 80, protocol: "TCP", targetPort: "http" }],
        selector: { app: "web" },
        type: "ClusterIP",
      },
      status: { loadBalancer: {} },
    });
  });

  test("has delete options", () => {
    expect(decoded(deleteOptions, "DeleteOptions")).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      propagationPolicy: "Background",
    });
  });

  test("has one field for each number of each type", () => {
    for (const [type, { fields }] of Object.entries(schemas)) {
      const numbers = Object.values(fields).flatMap(({ proto }) => proto?.join(".") ?? []);
      expect([type, numbers]).toEqual([type, [...new Set(numbers)]]);
    }
  });

  test("of another kind is decoded to its apiVersion and kind only", () => {
    expect(decodeProtobuf(Buffer.from(secret, "base64"), kinds.Service)).toEqual({
      apiVersion: "v1",
      kind: "Secret",
    });
  });

  test("is refused if it is truncated at any byte, or has no envelope", () => {
    const whole = Buffer.from(secret, "base64");
    const inner = whole.byteLength - 4;
    for (const length of [0, 3, 8, 20, 30, inner - 1]) {
      const cut = whole.subarray(0, length);
      expect(() => decodeProtobuf(cut, kinds.Secret)).toThrow(ProtobufError);
    }
    expect(() => decodeProtobuf(Buffer.from("{}"), kinds.Secret)).toThrow(
      new ProtobufError(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
      ),
    );
  });
});
