// The packages that setup installs for the proxy work together: nginx loads its Lua module, and Lua
// finds resty.core and cjson. Skipped if setup could not install them, which it has reported.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type IncomingResponse, NetworkError } from "../src/environment/network.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";

const nginx = "/usr/sbin/nginx";

it.skipIf(!existsSync(nginx))("answers from Lua over a unix socket", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-nginx-"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const configuration = join(folder, "nginx.conf");
  writeFileSync(
    configuration,
    `daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n  ")}
  lua_package_path "/usr/share/lua/5.1/?.lua;;";
  server {
    listen unix:${folder}/socket;
    location / { content_by_lua_block { ngx.say(require("cjson").encode({ lua = "works" })) } }
  }
}
`,
  );
  execFileSync(nginx, ["-t", "-q", "-p", folder, "-c", configuration]);
  const child = spawn(nginx, ["-p", folder, "-c", configuration], { stdio: "ignore" });
  try {
    const response = await firstAnswer(join(folder, "socket"));
    let body = "";
    for await (const chunk of response.body) body += Buffer.from(chunk).toString("utf8");
    expect([response.status, body]).toEqual([200, '{"lua":"works"}\n']);
  } finally {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Once nginx listens: the socket exists a moment before. */
async function firstAnswer(socketPath: string): Promise<IncomingResponse> {
  const { network, timers } = nodeEnvironment();
  for (;;) {
    try {
      return await network.request({ method: "GET", url: "http://nginx/", socketPath });
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      await timers.sleep(10);
    }
  }
}
