// Decisions of setup, as far as they can be tested without changing this machine.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aptCommand, inTurn, missingPackages, modulesProblem, nodeProblem } from "./setup.mjs";

it("accepts Node 20.19 and everything newer", () => {
  expect(["20.19.0", "20.20.2", "22.0.0", "24.1.0"].map((one) => nodeProblem(one))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it("says which Node is needed when this one is too old", () => {
  expect(nodeProblem("20.18.1")).toBe(
    "Lockstep needs Node 20.19 or newer; this is Node 20.18.1.\n" +
      "Install a newer one (nodejs.org, or your version manager) and run the command again.",
  );
});

it("refuses to install modules through a symbolic link, which may lead to another checkout", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-setup-"));
  try {
    const [own, link, dangling] = ["own", "link", "dangling"].map((name) => join(folder, name));
    mkdirSync(own);
    symlinkSync(own, link);
    symlinkSync(join(folder, "absent"), dangling);
    expect([own, join(folder, "absent")].map((one) => modulesProblem(one))).toEqual([
      undefined,
      undefined,
    ]);
    expect(modulesProblem(link)).toBe(
      `${link} is a symbolic link, and npm ci would empty the folder behind it.\n` +
        "Remove the link and run the command again, or update the modules where the link leads.",
    );
    expect(modulesProblem(dangling)).toContain("is a symbolic link");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("finds the Debian packages whose files are absent", () => {
  expect(missingPackages(() => true)).toEqual([]);
  expect(missingPackages((file) => file === "/usr/sbin/nginx").map((one) => one.name)).toEqual([
    "libnginx-mod-http-lua",
    "lua-resty-core",
    "lua-cjson",
    "etcd-server",
    "prometheus",
  ]);
});

it("knows the Lua library folder of both architectures", () => {
  const arm = (file) => !file.includes("x86_64");
  expect(missingPackages(arm)).toEqual([]);
});

it("installs packages without their services, and leaves a policy that is there", () => {
  expect(aptCommand([{ name: "prometheus" }, { name: "lua-cjson" }]).split(" && ")).toEqual([
    'test -e /usr/sbin/policy-rc.d || { trap "rm -f /usr/sbin/policy-rc.d" EXIT; ' +
      'printf "#!/bin/sh\\nexit 101\\n" > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; }',
    "apt-get update -qq",
    "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus lua-cjson",
    "{ update-rc.d prometheus disable || true; }",
  ]);
});

it("compiles in one process at a time, and not for a process that has ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-setup-"));
  try {
    const [lock, log] = ["lock", "log"].map((name) => join(folder, name));
    const setup = new URL("./setup.mjs", import.meta.url).href;
    const work = `for (const word of ["begin", "end"]) {
        appendFileSync(${JSON.stringify(log)}, word + " ");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      }`;
    const script = `import { appendFileSync } from "node:fs";
      import { inTurn } from ${JSON.stringify(setup)};
      inTurn(${JSON.stringify(lock)}, () => { ${work} });`;
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" }),
    );
    await Promise.all(children.map((child) => once(child, "exit")));
    expect(readFileSync(log, "utf8")).toBe("begin end begin end begin end ");
    const { pid } = spawnSync("true");
    writeFileSync(lock, String(pid));
    let isDone = false;
    inTurn(lock, () => {
      isDone = true;
    });
    expect(isDone).toBe(true);
    expect(existsSync(lock)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
