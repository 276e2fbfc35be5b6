// Runs Lua of the proxy as nginx runs it, without serving anything.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Runs a program over the JSON text, which it finds as `cases`, in the Lua of an nginx that ends
 * before it serves anything; gives what the program has made of `cases`.
 */
export function runLua(cases: string, program: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-cases-"));
  try {
    mkdirSync(join(folder, "temp"));
    writeFileSync(join(folder, "cases.json"), cases);
    writeFileSync(
      join(folder, "program.lua"),
      `local cjson = require("cjson")
       local prefix = ngx.config.prefix()
       local file = assert(io.open(prefix .. "cases.json"))
       local cases = cjson.decode(file:read("*a"))
       file:close()
       ${program}
       file = assert(io.open(prefix .. "decided.json", "w"))
       file:write(cjson.encode(cases))
       file:close()
       os.exit(0)`,
    );
    writeFileSync(
      join(folder, "nginx.conf"),
      `load_module /usr/lib/nginx/modules/ndk_http_module.so;
       load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
       pid nginx.pid; error_log stderr; events {}
       http {
         ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
           .map((name) => `${name}_temp_path temp/${name};`)
           .join("\n")}
         lua_package_path "${process.cwd()}/proxy/lua/?.lua;/usr/share/lua/5.1/?.lua;;";
         lua_shared_dict lockstep_meta 1m;
         init_by_lua_file program.lua;
       }`,
    );
    execFileSync("/usr/sbin/nginx", ["-p", folder, "-c", join(folder, "nginx.conf")]);
    return JSON.parse(readFileSync(join(folder, "decided.json"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
