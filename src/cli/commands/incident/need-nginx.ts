// A play in real time needs the program that its proxies are.
import { type CommandContext, UsageError } from "../../command.ts";

/** What the proxies of both sides are, where Debian and Alpine keep it. */
const neededByNginx = ["/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];

/** Says what to install when it is missing. */
export async function needNginx({ environment }: CommandContext): Promise<void> {
  const absent: string[] = [];
  for (const path of neededByNginx) {
    if ((await environment.files.read(path)) === undefined) absent.push(path);
  }
  if (absent.length === 0) return;
  throw new UsageError(
    `--live needs nginx with Lua, and there is no ${absent.join(", no ")}. Install it with: ` +
      "apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-cjson",
  );
}
