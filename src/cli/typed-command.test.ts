import { resolve } from "node:path";
import { expect, test } from "vitest";
import { typedCommand } from "./typed-command.ts";

const checkout = resolve("bin/lockstep.mjs");
const npmStart = { npm_command: "start", npm_lifecycle_event: "start", INIT_CWD: resolve() };

function npx(script: string) {
  return { npm_command: "exec", npm_lifecycle_script: script };
}

test.each<[string, string, string | undefined, Readonly<Record<string, string>>]>([
  ["lockstep lab", "is installed", "/opt/bin/lockstep", { PATH: "/bin:/opt/bin" }],
  ["/opt/bin/lockstep lab", "is not on the PATH", "/opt/bin/lockstep", { PATH: "/bin" }],
  ["kubectl lockstep lab", "is a plugin", "/opt/bin/kubectl-lockstep", { PATH: "/bin" }],
  ["npx lockstep lab", "comes from npx", "/x/.bin/lockstep", npx("'lockstep' lab")],
  ["/x/lockstep lab", "comes from what npx has started", "/x/lockstep", npx("vitest run")],
  ["npx lockstep lab", "comes from npm start", checkout, npmStart],
  [`node ${checkout} lab`, "comes from npm elsewhere", checkout, { ...npmStart, INIT_CWD: "/" }],
  ["node bin/lockstep.mjs lab", "is a file below", checkout, {}],
  ["node /opt/l/bin/lockstep.mjs lab", "is a file elsewhere", "/opt/l/bin/lockstep.mjs", {}],
  ["node '/my tools/lockstep.mjs' lab", "needs quotes", "/my tools/lockstep.mjs", {}],
  ["lockstep lab", "is not known", undefined, {}],
])("%s, where the program %s", (typed, _, file, variables) => {
  const self: [string, ...string[]] = file === undefined ? ["x"] : ["/usr/bin/node", file];
  expect(typedCommand({ self, variables }, "lab")).toBe(typed);
});

test("npm start is lockstep up, with the flags behind two dashes", () => {
  const started = { self: ["node", checkout] as const, variables: npmStart };
  expect([typedCommand(started, "up"), typedCommand(started, "up --help")]).toEqual([
    "npm start",
    "npm start -- --help",
  ]);
});
