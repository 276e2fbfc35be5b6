// The nginx with Lua that the proxies of the demonstration and of live incidents need.
import type { Environment } from "../environment/environment.ts";

/** Debian and Alpine have it here. */
const neededFiles = ["/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];

export const nginxInstall =
  "Install it with: apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-cjson";

/** Empty when nginx can run. */
export async function missingNginxFiles({
  files,
}: Pick<Environment, "files">): Promise<readonly string[]> {
  const absent: string[] = [];
  for (const path of neededFiles) if ((await files.read(path)) === undefined) absent.push(path);
  return absent;
}
