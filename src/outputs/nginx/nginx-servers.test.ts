import { describe, expect, test } from "vitest";
import {
  type ListenAddress,
  NginxOptionsError,
  serversConf,
  trustedConf,
} from "./nginx-servers.ts";

test("one plain server trusts no proxy, logs, and verifies no endpoint", () => {
  expect(
    serversConf({ listen: [{ address: "10.0.0.1", port: 80 }] }),
  ).toBe(`map "" $lockstep_https_port { default ""; }
geo $realip_remote_addr $lockstep_is_sender { default 1; include run/trusted.conf; }
server {
    listen 10.0.0.1:80 backlog=4096;
    access_log logs/access.log lockstep buffer=32k flush=1s if=$lockstep_logged;
    include headers-direct.conf;
    include server.conf;
    include special-direct.conf;
    include unverifiable.conf;
}
`);
  expect(trustedConf({ listen: [] })).toBe("");
});

test("listeners of the PROXY protocol have a server of their own, with its own way to learn who asks", () => {
  const options = {
    listen: [
      { address: "0.0.0.0", port: 443, tls: true },
      { address: "::", port: 81, http2: true },
      { address: "::", port: 444, tls: true, proxyProtocol: true },
    ],
    trustedProxies: ["10.0.0.0/8", "fd00::1"],
    upstreamCa: "/etc/ca.pem",
    accessLog: "off",
    publicHttpsPort: 8443,
  } as const;
  expect(serversConf(options)).toBe(`map "" $lockstep_https_port { default "8443"; }
geo $realip_remote_addr $lockstep_is_sender { default 0; include run/trusted.conf; }
server {
    listen 0.0.0.0:443 ssl http2 backlog=4096;
    listen [::]:81 http2 backlog=4096;
    set_real_ip_from 10.0.0.0/8;
    set_real_ip_from fd00::1;
    real_ip_header X-Forwarded-For;
    real_ip_recursive on;
    access_log off;
    include headers-trusted.conf;
    include tls.conf;
    include server.conf;
    include special-trusted.conf;
    include verified.conf;
}
server {
    listen [::]:444 ssl http2 proxy_protocol backlog=4096;
    set_real_ip_from 10.0.0.0/8;
    set_real_ip_from fd00::1;
    real_ip_header proxy_protocol;
    access_log off;
    include headers-trusted.conf;
    include tls.conf;
    include server.conf;
    include special-trusted.conf;
    include verified.conf;
}
`);
  expect(trustedConf(options)).toBe("10.0.0.0/8 1;\nfd00::1 1;\n");
});

test("without trusted proxies every client of such a listener is trusted there", () => {
  const listen = [{ address: "10.0.0.1", port: 80, proxyProtocol: true }];
  expect(serversConf({ listen })).toBe(`map "" $lockstep_https_port { default ""; }
geo $realip_remote_addr $lockstep_is_sender { default 1; include run/trusted.conf; }
server {
    listen 10.0.0.1:80 proxy_protocol backlog=4096;
    set_real_ip_from 0.0.0.0/0;
    set_real_ip_from ::/0;
    real_ip_header proxy_protocol;
    access_log logs/access.log lockstep buffer=32k flush=1s if=$lockstep_logged;
    include headers-trusted.conf;
    include server.conf;
    include special-trusted.conf;
    include unverifiable.conf;
}
`);
});

describe("what cannot be meant is refused, and nothing of it becomes configuration", () => {
  const table: readonly (readonly [string, readonly ListenAddress[], string])[] = [
    ["no address", [], "nginx needs an address to listen on"],
    [
      "a name",
      [{ address: "localhost", port: 80 }],
      "nginx cannot listen on localhost:80: use an IP address and a port",
    ],
    [
      "a line of configuration",
      [{ address: "1.1.1.1; include /etc/passwd", port: 80 }],
      "nginx cannot listen on 1.1.1.1; include /etc/passwd:80: use an IP address and a port",
    ],
    [
      "a port out of range",
      [{ address: "::", port: 65_536 }],
      "nginx cannot listen on [::]:65536: use an IP address and a port",
    ],
    [
      "one place twice",
      [
        { address: "::", port: 80 },
        { address: "::", port: 80, tls: true },
      ],
      "[::]:80 is used twice; each protocol needs its own port",
    ],
  ];
  test.each(table)("%s", (_, listen, message) => {
    expect(() => serversConf({ listen })).toThrow(new NginxOptionsError(message));
  });

  test("a proxy that is no network", () => {
    const listen = [{ address: "::", port: 80 }];
    for (const text of ["10.0.0.0/33", "10.0.0.0/8;", "proxy.example"]) {
      const message =
        `"${text}" is not a valid trusted proxy: use an IP address or a CIDR such as ` +
        "10.0.0.0/8";
      expect(() => serversConf({ listen, trustedProxies: [text] })).toThrow(
        new NginxOptionsError(message),
      );
      expect(() => trustedConf({ listen, trustedProxies: [text] })).toThrow(
        new NginxOptionsError(message),
      );
    }
  });
});

test("HSTS is sent where it is asked for, and only with a time that can be meant", () => {
  const listen = [{ address: "10.0.0.1", port: 443, tls: true }];
  const conf = serversConf({ listen, hstsMaxAgeSeconds: 31_536_000 });
  expect(conf).toContain(`
map $lockstep_forwarded_proto $lockstep_hsts_value { default ""; https "max-age=31536000"; }
map $upstream_http_strict_transport_security $lockstep_hsts { default ""; "" $lockstep_hsts_value; }
`);
  expect(conf).toContain("\n    add_header Strict-Transport-Security $lockstep_hsts always;\n");
  expect(serversConf({ listen })).not.toContain("Strict-Transport-Security");
  expect(() => serversConf({ listen, hstsMaxAgeSeconds: -1 })).toThrow(NginxOptionsError);
});
