// The subresources scale, binding and log.
import { expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { objectAt, objectsAt, textAt } from "../kinds/fields.ts";

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const labels = { app: "a" };
const deployment = {
  metadata: { name: "a" },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels, matchExpressions: [{ key: "x", operator: "DoesNotExist" }] },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
};

test("scale shows and changes the replicas alone", () =>
  inApiWorld(async ({ call }) => {
    const created = await call("POST", deployments, deployment);
    const { uid, resourceVersion, creationTimestamp } = { ...objectAt(created.json, "metadata") };
    const scale = await call("GET", `${deployments}/a/scale`);
    expect(scale.json).toEqual({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name: "a", namespace: "default", uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0, selector: "app=a,!x" },
    });
    const patched = await call(
      "PATCH",
      `${deployments}/a/scale`,
      { spec: { replicas: 5 } },
      {
        contentType: "application/merge-patch+json",
      },
    );
    expect(objectAt(patched.json, "spec")).toEqual({ replicas: 5 });
    expect((await call("PUT", `${deployments}/a/scale`, scale.json)).status).toBe(409);
    const after = await call("GET", `${deployments}/a`);
    expect(after.json).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5 } });
  }));

test("scale refuses a negative number", () =>
  inApiWorld(async ({ call }) => {
    await call("POST", deployments, deployment);
    const body = { metadata: { name: "a" }, spec: { replicas: -1 } };
    const message = "Invalid value: -1: must be greater than or equal to 0";
    expect((await call("PUT", `${deployments}/a/scale`, body)).json).toEqual(
      failure(422, "Invalid", `Scale.autoscaling "a" is invalid: spec.replicas: ${message}`, {
        name: "a",
        group: "autoscaling",
        kind: "Scale",
        causes: [{ reason: "FieldValueInvalid", message, field: "spec.replicas" }],
      }),
    );
  }));

test("a binding gives a pod its node, once", () =>
  inApiWorld(async ({ call }) => {
    await call("POST", pods, pod("a"));
    const binding = { metadata: { name: "a" }, target: { kind: "Node", name: "n1" } };
    const bound = await call("POST", `${pods}/a/binding`, binding);
    expect(bound.json).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      code: 201,
    });
    const { json } = await call("GET", `${pods}/a`);
    expect(textAt(json, "spec", "nodeName")).toBe("n1");
    expect(objectsAt(json, "status", "conditions")).toEqual([
      {
        lastProbeTime: null,
        lastTransitionTime: "2026-01-01T00:00:00Z",
        status: "True",
        type: "PodScheduled",
      },
    ]);
    expect((await call("POST", `${pods}/a/binding`, binding)).json).toEqual(
      failure(
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
        { name: "a", kind: "pods/binding" },
      ),
    );
  }));

test("a binding of another name is refused, and a dry run of one binds nothing", () =>
  inApiWorld(async ({ call }) => {
    await call("POST", pods, pod("a"));
    const binding = { metadata: { name: "a" }, target: { kind: "Node", name: "n1" } };
    const other = { ...binding, metadata: { name: "b" } };
    expect((await call("POST", `${pods}/a/binding`, other)).json).toEqual(
      failure(400, "BadRequest", "name in URL does not match name in Binding object"),
    );
    expect((await call("POST", `${pods}/a/binding?dryRun=All`, binding)).status).toBe(201);
    expect(textAt((await call("GET", `${pods}/a`)).json, "spec", "nodeName")).toBe("");
  }));

test("logs come from the kubelet, and the container must be unambiguous", () =>
  inApiWorld(
    async ({ call }) => {
      const containers = [
        { name: "one", image: "i" },
        { name: "two", image: "i" },
      ];
      await call("POST", pods, pod("a"));
      await call("POST", pods, pod("b", { containers }));
      expect((await call("GET", `${pods}/a/log?tailLines=3`)).text).toBe("a c 3\n");
      expect((await call("GET", `${pods}/b/log?container=two`)).text).toBe("b two undefined\n");
      expect((await call("GET", `${pods}/b/log`)).json).toEqual(
        failure(
          400,
          "BadRequest",
          "a container name must be specified for pod b, choose one of: [one two]",
        ),
      );
      expect((await call("GET", `${pods}/b/log?container=three`)).json).toEqual(
        failure(400, "BadRequest", "container three is not valid for pod b"),
      );
    },
    {
      podLogs: {
        async write({ name, container, tailLines }, writer) {
          writer.write(Buffer.from(`${name} ${container} ${tailLines}\n`));
        },
      },
    },
  ));

test("options that no log could answer are refused before the pod is looked for", () =>
  inApiWorld(async ({ call }) => {
    const read = async (query: string) => {
      const { json } = await call("GET", `${pods}/nowhere/log?${query}`);
      return textAt(json, "message");
    };
    const invalid = 'PodLogOptions "nowhere" is invalid:';
    expect([
      await read("tailLines=-1"),
      await read("tailLines=-2&limitBytes=0&sinceSeconds=0"),
      await read("sinceTime=2020-01-01T00:00:00Z&sinceSeconds=1"),
      await read("stream=Stdout"),
      await read("sinceTime=x"),
      await read("tailLines=x"),
      await read("tailLines=0&sinceSeconds=1&limitBytes=1"),
    ]).toEqual([
      `${invalid} tailLines: Invalid value: -1: must be greater than or equal to 0`,
      `${invalid} [tailLines: Invalid value: -2: must be greater than or equal to 0, ` +
        "limitBytes: Invalid value: 0: must be greater than 0, " +
        "sinceSeconds: Invalid value: 0: must be greater than 0]",
      `${invalid} []: Forbidden: at most one of \`sinceTime\` or \`sinceSeconds\` may be specified`,
      `${invalid} stream: Forbidden: may not be specified`,
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
      'strconv.ParseInt: parsing "x": invalid syntax',
      'pods "nowhere" not found',
    ]);
  }));

test("a proxy passes a request to the pod, without the credentials, and its answer back", () =>
  inApiWorld(
    async ({ call, simulation }) => {
      const listener = await simulation
        .host("node")
        .network.listen({ host: "node", port: 10257 }, (exchange) => {
          const { method, target, headers } = exchange.request;
          const seen = `${method} ${target} ${headers["authorization"] ?? "no credentials"}`;
          exchange.respond(201, { "content-type": "text/plain" }).end(Buffer.from(seen));
        });
      for (const name of ["a", "away"]) await call("POST", pods, pod(name));
      const { status, text } = await call("GET", `${pods}/https:a:10257/proxy/metrics/x?y=1`);
      expect([status, text]).toEqual([201, "GET /metrics/x?y=1 no credentials"]);
      expect((await call("DELETE", `${pods}/a/proxy/`)).text).toBe("DELETE / no credentials");
      await listener.close();
      const refused = (await call("GET", `${pods}/a:10257/proxy/metrics`)).json;
      expect(textAt(refused, "message")).toMatch(/^error trying to reach service: /);
      expect((await call("GET", `${pods}/away/proxy/metrics`)).json).toEqual(
        failure(503, "ServiceUnavailable", "pod away has no address"),
      );
      expect((await call("GET", `${pods}/none/proxy/metrics`)).status).toBe(404);
      expect((await call("GET", `${pods}/a:b:c:d/proxy/metrics`)).status).toBe(400);
    },
    { podListensAt: ({ name }) => (name === "a" ? "node:10257" : undefined) },
  ));
