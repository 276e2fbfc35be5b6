import { Command } from "commander";
import { expect, test } from "vitest";
import { EffectiveConfig, readConfigFile } from "./config.ts";
import { addSettingFlags, flagTexts } from "./setting.ts";
import { ingressSettings } from "./settings.ts";

function flags(...args: readonly string[]) {
  const command = addSettingFlags(new Command("ingress").exitOverride(), ingressSettings);
  command.configureOutput({ writeErr: () => undefined });
  command.parse([...args], { from: "user" });
  return flagTexts(command, ingressSettings);
}

const file = (text: string) => readConfigFile("lockstep.yaml", text, ingressSettings);

function texts(text: string) {
  const read = file(text);
  if (read.kind === "wrong") throw new Error(read.problems.join("\n"));
  return read.texts;
}

test("a flag goes before the file, the file before the default", () => {
  const inFile = texts("class: web\nhttpPort: 9000\nfollowSlices: true\ncontexts: [east, west]\n");
  const { config } = new EffectiveConfig(
    flags("--http-port", "9001", "--no-follow-slices", "--workers", "4"),
    inFile,
  );
  expect({
    class: config.class,
    httpPort: config.httpPort,
    followSlices: config.policy.followSlices,
    contexts: config.contexts,
    workers: config.nginx.workers,
    statusPort: config.statusPort,
  }).toEqual({
    class: "web",
    httpPort: 9001,
    followSlices: false,
    contexts: ["east", "west"],
    workers: 4,
    statusPort: 10_260,
  });
});

test("a repeated flag is a list, and the older name of a flag means the same", () => {
  const given = flags("--context", "a", "--context", "b", "--ingress-class", "web");
  const { config } = new EffectiveConfig(given, new Map());
  expect([config.contexts, config.class, config.listen]).toEqual([["a", "b"], "web", ["0.0.0.0"]]);
  const other = flags("--http-address", "127.0.0.1", "--http-address", "::1");
  expect(new EffectiveConfig(other, new Map()).config.listen).toEqual(["127.0.0.1", "::1"]);
});

test("every mistake in a file is reported, with its place and a correct value", () => {
  const text = [
    "htpPort: 80",
    "httpPort: 99999",
    "followSlices: yes please",
    "contexts: east",
    "class: [web]",
    "drainDelay: 5",
    "ingress-class: web",
    "frobnicate: 1",
  ].join("\n");
  expect(file(text)).toEqual({
    kind: "wrong",
    problems: [
      'lockstep.yaml:1:1: there is no field "htpPort"; did you mean "httpPort"?',
      'lockstep.yaml:2:11: httpPort cannot be "99999". It must be a whole number from 1 to 65535.',
      "lockstep.yaml:3:15: followSlices: it must be true or false.",
      "lockstep.yaml:5:8: class: it must be a single value.",
      'lockstep.yaml:6:13: drainDelay cannot be "5". ' +
        "It must be a duration such as 500ms, 5s or 1m30s, up to 1h.",
      'lockstep.yaml:7:1: there is no field "ingress-class"; did you mean "class"?',
      expect.stringMatching(/^lockstep\.yaml:8:1: there is no field "frobnicate"; there are kube/),
    ],
  });
});

test.each([
  ["no YAML", "class: [web", "lockstep.yaml:1:12: "],
  ["a field twice", "class: a\nclass: b\n", "lockstep.yaml:2:1: Map keys must be unique"],
  ["a list in the place of fields", "- class\n", "lockstep.yaml:1:1: the file must contain fields"],
])("a file with %s is refused", (_, text, problem) => {
  const read = file(text);
  expect(read.kind === "wrong" && read.problems[0]).toContain(problem);
});

test.each([
  ["an empty file", ""],
  ["a comment", "# nothing yet\n"],
  ["a field without a value", "class:\n"],
])("%s sets nothing", (_, text) => {
  expect(texts(text)).toEqual(new Map());
});

test("what is printed is a config file that says the same", () => {
  const effective = new EffectiveConfig(
    flags("--publish-address", "192.0.2.1", "--publish-address", "edge.example", "--shadow"),
    texts("lease: edge/lock\nunreachableAfter: 1m30s\nprefix: /var/a b\n"),
  );
  const printed = effective.toYaml();
  expect(printed).toContain("publishAddresses: [192.0.2.1, edge.example] # --publish-address\n");
  expect(new EffectiveConfig(new Map(), texts(printed)).config).toEqual(effective.config);
});

test("a switch that was taken back is printed with the flag that did it", () => {
  const printed = new EffectiveConfig(flags("--no-ssl-redirect", "--shadow"), new Map()).toYaml();
  expect(printed).toMatch(/^sslRedirect: false +# --no-ssl-redirect$/m);
  expect(printed).toMatch(/^shadow: true +# --shadow$/m);
});

test("help shows of a switch the flag that changes it, in words that fit it", () => {
  const command = addSettingFlags(new Command("ingress"), ingressSettings);
  const shown = command.createHelp().visibleOptions(command);
  const lines = shown.map(({ flags: flag, description }) => `${flag} ${description}`);
  expect(lines.filter((line) => line.startsWith("--no-"))).toEqual([
    "--no-ssl-redirect do not redirect to https",
    "--no-snapshot do not save the state and private keys",
  ]);
  expect(lines).toContain(
    "--shadow compare and report only, serve nothing, write nothing; needs no nginx",
  );
});

test("changes are separated by whether they need a restart", () => {
  const before = new EffectiveConfig(flags("--workers", "1"), texts("logLevel: info\n"));
  const after = before.withFile(texts("logLevel: debug\nhttpPort: 81\nworkers: 9\nspread: even\n"));
  expect(before.changesTo(after)).toEqual({
    live: ["spread", "logLevel"],
    atRestart: ["httpPort"],
  });
});
