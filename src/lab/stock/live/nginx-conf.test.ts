import { expect, it } from "vitest";
import { nginxConf } from "./nginx-conf.ts";

const options = {
  prefix: "/run/stock",
  host: "127.0.0.1",
  port: 8080,
  statusPort: 10246,
  generation: 3,
};

/** From the first to the last server of the proxy, without what stands around them. */
function serversOf(conf: string): string {
  return conf.slice(conf.indexOf("  server {"), conf.indexOf("    listen unix:"));
}

it("answers 404 by default and its generation on the control socket", () => {
  const conf = nginxConf([], { ...options, hasAccessLog: false });
  expect(serversOf(conf)).toBe(`  server {
    listen 127.0.0.1:8080 default_server;
    server_name "_";

    location / { return 404; }
  }
  server {
`);
  expect(conf).toContain(`location = /configuration/generation { return 200 "3\\n"; }`);
  expect(conf).toContain("access_log off;\n\n  upstream");
});

it("has a server for each host and a location for each path, with the model's timeouts", () => {
  const locations = [{ match: "exact", path: "/cart", backend: "shop-web-80" }] as const;
  const conf = nginxConf([{ hostname: "*.shop.example", locations }], {
    ...options,
    hasAccessLog: true,
  });
  expect(serversOf(conf)).toBe(`  server {
    listen 127.0.0.1:8080;
    server_name "~^[\\\\w-]+\\\\.shop\\\\.example$";
    location = "/cart" {
      set $proxy_upstream_name "shop-web-80";
      rewrite_by_lua_block { require("stock").rewrite() }
      proxy_pass http://upstream_balancer;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_connect_timeout 5s;
      proxy_send_timeout 60s;
      proxy_read_timeout 60s;
      proxy_next_upstream error timeout;
      proxy_next_upstream_tries 3;
      add_header x-upstream $upstream_addr always;
    }
    location / { return 404; }
  }
  server {
    listen 127.0.0.1:8080 default_server;
    server_name "_";

    location / { return 404; }
  }
  server {
`);
  expect(conf).toContain("access_log /run/stock/access.log stock buffer=32k flush=1s;");
});

it("quotes what a path might end a string with", () => {
  const locations = [{ match: "prefix", path: '/a" { } \\', backend: "b" }] as const;
  const conf = nginxConf([{ hostname: "_", locations }], { ...options, hasAccessLog: false });
  expect(conf).toContain('location "/a\\" { } \\\\" {');
});
