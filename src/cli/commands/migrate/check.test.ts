import { describe, expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { isThorough } from "../../../simulation/seeds.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

type Texts = Readonly<Record<string, string>>;

async function run(files: Texts, args: readonly string[], stdin?: string) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    for (const [path, content] of Object.entries(files)) {
      await environment.files.makeDirectory(path.slice(0, path.lastIndexOf("/")) || "/");
      await environment.files.write(path, content);
    }
    const piped = async function* () {
      yield Buffer.from(stdin ?? "");
    };
    const context = {
      environment,
      terminal,
      stop,
      ...(stdin === undefined ? {} : { stdin: piped }),
    };
    return runProgram(context, "1.2.3", ["migrate", "check", ...args]);
  });
  return { code, out: terminal.out, error: terminal.error };
}

interface Short {
  readonly annotations?: Texts;
  readonly host?: string;
  readonly namespace?: string;
}

function ingress(name: string, { annotations = {}, host, namespace = "shop" }: Short = {}): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, namespace, annotations },
    spec: {
      ingressClassName: "nginx",
      rules: [
        {
          host: host ?? `${name}.example`,
          http: {
            paths: [
              {
                path: "/",
                pathType: "Prefix",
                backend: { service: { name: "web", port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  };
}

const annotated = (name: string, value: string) => ({
  annotations: { [`nginx.ingress.kubernetes.io/${name}`]: value },
});

const same = JSON.stringify(ingress("same"));
const differs = JSON.stringify(ingress("differs", annotated("limit-rps", "5")));
const refused = JSON.stringify(ingress("refused", annotated("server-snippet", "return 200;")));

describe("the exit code", () => {
  test.each<[string, readonly string[], number]>([
    [same, [], 0],
    [differs, [], 1],
    [differs, ["--fail-on", "refused"], 0],
    [refused, ["--fail-on", "refused"], 1],
    [refused, ["--fail-on", "never"], 0],
    [same, ["--fail-on", "defaults"], 1],
  ])("%# %s %j", async (text, flags, code) => {
    expect((await run({ "/m/a.json": text }, ["/m", ...flags])).code).toBe(code);
  });

  test.each<[readonly string[], RegExp]>([
    [[], /give files or folders/],
    [["/nowhere"], /does not exist/],
    [["/m/empty.yaml"], /no Ingress was found among 1 objects/],
    [["/m", "--context", "a"], /cannot be used together/],
    [["/m", "--no-secrets"], /needs --context/],
    [["/m", "--ingress", "shop/none"], /shop\/none was not found/],
  ])("is that of an error for %j", async (args, message) => {
    const files = { "/m/a.json": same, "/m/empty.yaml": "kind: Service\nmetadata: {name: a}\n" };
    await expect(run(files, args)).rejects.toThrow(message);
  });
});

test("standard input and folders are read alike", async () => {
  const list = JSON.stringify({ kind: "List", items: [JSON.parse(same), JSON.parse(differs)] });
  const piped = await run({}, ["-", "--json"], list);
  const folder = await run({ "/m/x/a.json": same, "/m/b.yml": differs }, ["/m", "--json"]);
  expect(JSON.parse(piped.out)).toEqual(JSON.parse(folder.out));
});

test("JSON has every field that the document names", async () => {
  const { out } = await run({ "/m/a.json": differs }, ["/m", "--json"]);
  expect(JSON.parse(out)).toMatchObject({
    version: 1,
    summary: { ingresses: 1, same: 0, differs: 1, refused: 0, missing: 0 },
    ingresses: [
      {
        namespace: "shop",
        name: "differs",
        class: "nginx",
        hosts: ["differs.example"],
        paths: 1,
        verdict: "differs",
        findings: [
          {
            kind: "differs",
            reason: "Differs",
            about: "limit-rps",
            message: expect.stringContaining("429"),
          },
        ],
        sameAnnotations: [],
      },
    ],
    controller: { workloads: [], configMap: null, settings: [], flags: [] },
    otherClasses: {},
    notChecked: [expect.stringContaining("Services"), expect.stringContaining("certificates")],
    notes: [],
  });
});

describe("the settings of the controller", () => {
  const configMap = (name: string, data: Texts) =>
    JSON.stringify({ kind: "ConfigMap", metadata: { name, namespace: "edge" }, data });
  const controller = (...args: readonly string[]) =>
    JSON.stringify({
      kind: "Deployment",
      metadata: { name: "controller", namespace: "edge" },
      spec: {
        template: { spec: { containers: [{ command: ["/nginx-ingress-controller", ...args] }] } },
      },
    });

  test("are those of the ConfigMap that its flags name", async () => {
    const { out, code } = await run(
      {
        "/m/a.json": same,
        "/m/one.json": configMap("settings", {
          "global-auth-url": "http://a",
          "use-gzip": "false",
        }),
        "/m/tcp.json": configMap("tcp", { "5432": "shop/db:5432" }),
        "/m/other.json": configMap("ingress-nginx-controller", { "hide-headers": "X" }),
        "/m/c.json": controller(
          "--configmap=$(POD_NAMESPACE)/settings",
          "--tcp-services-configmap=$(POD_NAMESPACE)/tcp",
          "--udp-services-configmap=edge/udp",
        ),
      },
      ["/m", "--json"],
    );
    const { controller: found, notes } = JSON.parse(out);
    expect(code).toBe(1);
    expect(found.configMap).toBe("edge/settings");
    const verdicts = [...found.settings, ...found.flags].map((one) => `${one.name} ${one.verdict}`);
    expect(verdicts.sort()).toEqual([
      "--tcp-services-configmap refused",
      "global-auth-url refused",
      "use-gzip same",
    ]);
    expect(notes).toEqual([
      expect.stringContaining("ConfigMap edge/udp of --udp-services-configmap"),
    ]);
  });

  test("are compared with Lockstep's own settings", async () => {
    const files = {
      "/m/a.json": same,
      "/m/c.json": configMap("ingress-nginx-controller", {
        hsts: "true",
        "hsts-include-subdomains": "false",
        "use-forwarded-headers": "true",
      }),
      "/lockstep.yaml": "httpsPort: 8443\nhstsMaxAge: 31536000\ntrustedProxies: [192.0.2.0/24]\n",
    };
    const verdicts = async (...args: readonly string[]) => {
      const { out } = await run(files, ["/m", "--json", ...args]);
      const { settings } = JSON.parse(out).controller;
      return Object.fromEntries(
        settings.map((one: { name: string; verdict: string }) => [one.name, one.verdict]),
      );
    };
    expect(await verdicts()).toEqual({
      hsts: "differs",
      "hsts-include-subdomains": "same",
      "use-forwarded-headers": "differs",
    });
    expect(await verdicts("--config", "/lockstep.yaml")).toEqual({
      hsts: "same",
      "hsts-include-subdomains": "same",
      "use-forwarded-headers": "same",
    });
  });
});

describe("hostile input", () => {
  test("a broken document is reported with its place, and the others are used", async () => {
    const cyclic = "a: &a\n  b: *a\n";
    const deep = `a: ${"[".repeat(20_000)}`;
    const bomb = `a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]\n`;
    const { out } = await run(
      {
        "/m/a.yaml": `${same}\n`,
        "/m/b.yaml": [cyclic, deep, bomb, "{{- if .Values.b }}\na: b\n{{- end }}", differs].join(
          "\n---\n",
        ),
      },
      ["/m", "--json"],
    );
    const { notes, ingresses } = JSON.parse(out);
    expect(ingresses.map(({ name }: { name: string }) => name)).toEqual(["differs", "same"]);
    expect(notes).toEqual([
      expect.stringMatching(/b\.yaml: document 1: .*contains itself/),
      expect.stringMatching(/b\.yaml: document 2: .*max depth/),
      expect.stringMatching(/b\.yaml: document 3: .*aliasing/),
      expect.stringMatching(/b\.yaml: document 4: .*Helm template/),
    ]);
  });

  test("objects of the wrong form are reported one by one", async () => {
    const wrong = [
      { kind: "Ingress", metadata: { name: "a", annotations: { x: true } } },
      { kind: "Ingress", metadata: { name: "b" }, spec: { rules: "all" } },
      { kind: "Ingress", apiVersion: "extensions/v1beta1", metadata: { name: "c" } },
      { kind: "ConfigMap", metadata: { name: "d" }, data: { a: 1 } },
      { kind: "Deployment", metadata: 5 },
      { kind: "List", items: [{ kind: "List", items: [JSON.parse(refused)] }, 7, null] },
      "text",
    ];
    const text = [same, ...wrong.map((one) => JSON.stringify(one))].join("\n---\n");
    const { out } = await run({ "/m/a.yaml": text }, ["/m", "--json"]);
    const { notes, ingresses } = JSON.parse(out);
    expect(ingresses).toHaveLength(1);
    expect(notes.map((note: string) => note.split(" is malformed: ")[0])).toEqual(
      ["Ingress a", "Ingress b", "Ingress c", "ConfigMap d", "Deployment without a name"].map(
        (what) => `/m/a.yaml: ${what}`,
      ),
    );
  });

  test("control characters of objects do not reach the terminal", async () => {
    const evil = "\u001b[31mred\u0007\u202e\u009b2J";
    const object = ingress(`x${evil}`, { host: evil, ...annotated(`y${evil}`, evil) });
    for (const flags of [[], ["--json"], ["--all"]]) {
      const { out, error } = await run({ "/m/a.json": JSON.stringify(object) }, ["/m", ...flags]);
      expect(`${out}${error}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });

  test.runIf(isThorough(process.env))(
    "ten thousand Ingresses of many tenants are checked, and the table stays short",
    async () => {
      const many = Array.from({ length: 10_000 }, (_, index) =>
        ingress(`i-${index}`, {
          namespace: `team-${index % 100}`,
          ...annotated(index % 2 === 0 ? "proxy-body-size" : "limit-rps", "8"),
        }),
      );
      const text = JSON.stringify({ kind: "List", items: many });
      const { out, code } = await run({ "/m/a.json": text }, ["/m"]);
      expect(code).toBe(1);
      expect(out.split("\n").length).toBeLessThan(300);
      expect(out).toContain("10,000 Ingresses: 5,000 same, 5,000 differ, 0 refused");
    },
  );

  test("a line is no wider than the terminal", async () => {
    const { out } = await run({ "/m/a.json": same, "/m/b.json": refused, "/m/c.json": differs }, [
      "/m",
      "--all",
    ]);
    const widest = Math.max(...out.split("\n").map((line) => line.length));
    expect(widest).toBeLessThanOrEqual(80);
  });
});
