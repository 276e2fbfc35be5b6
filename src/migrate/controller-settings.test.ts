import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkOptions } from "../../tests/migrate/check-options.ts";
import { checkedSettings } from "./controller-settings.ts";

const { lockstep } = checkOptions();

/** The directives of the constant configuration, each with its value. */
const conf = readFileSync(new URL("../../proxy/server.conf", import.meta.url), "utf8");

function directive(name: string): string {
  return new RegExp(`^${name} (.*);`, "m").exec(conf)?.[1] ?? "absent";
}

test.each([
  ["proxy-body-size", "client_max_body_size"],
  ["proxy-connect-timeout", "proxy_connect_timeout"],
  ["proxy-read-timeout", "proxy_read_timeout"],
  ["proxy-send-timeout", "proxy_send_timeout"],
  ["proxy-next-upstream", "proxy_next_upstream"],
  ["proxy-next-upstream-timeout", "proxy_next_upstream_timeout"],
  ["client-body-timeout", "client_body_timeout"],
  ["client-header-timeout", "client_header_timeout"],
  ["large-client-header-buffers", "large_client_header_buffers"],
  ["proxy-buffer-size", "proxy_buffer_size"],
  ["keep-alive", "keepalive_timeout"],
  ["proxy-http-version", "proxy_http_version"],
])("%s with the value of %s is the same", (name, ofNginx) => {
  const value = directive(ofNginx);
  const [found] = checkedSettings({ [name]: value }, lockstep).filter((one) => one.name === name);
  expect([value === "absent", found?.verdict]).toEqual([false, "same"]);
});

test("a setting that is set is listed with its verdict, whatever it is", () => {
  const given = {
    "http-snippet": "server {\n}",
    "worker-processes": "4",
    "proxy-bodysize": "1m",
    "use-http2": "true",
    "whitelist-source-range": "",
  };
  const found = checkedSettings(given, lockstep).filter(({ isSet }) => isSet);
  expect(Object.fromEntries(found.map(({ name, verdict }) => [name, verdict]))).toEqual({
    "http-snippet": "refused",
    "worker-processes": "same",
    "proxy-bodysize": "differs",
    "use-http2": "same",
    "whitelist-source-range": "same",
  });
});
