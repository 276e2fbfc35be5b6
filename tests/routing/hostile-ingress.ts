// Ingresses with anything in every string, from plain nonsense to what could end a line, a header,
// a configuration or a table in the proxy.
import fc from "fast-check";
import { annotationGroups } from "../../src/decide/routing/ingress/annotations.ts";
import type { WallMs } from "../../src/environment/clock.ts";
import type {
  Ingress,
  IngressBackend,
  IngressPath,
  IngressRule,
} from "../../src/kube/kinds/ingress.ts";
import { metadata } from "../truth/service-facts.ts";

const injections = [
  "a;\n}\nserver { listen 1; }",
  "\r\nX-Evil: 1",
  "$(id)",
  "\u0024{http_host}",
  "$document_root",
  '"; os.execute("id") --',
  "]] ngx.exit(200) --[[",
  "../../etc/passwd",
  "//evil.example/",
  "%00",
  "\0",
  "\ud800",
  "a".repeat(5_000),
  "(a+)+$",
  "/(((((a*)*)*)*)*)b",
  "127.0.0.1:10246",
  "unix:/run/control.sock",
  "{{ .Values }}",
  "\u2028\u{1f600}",
  "__proto__",
  "constructor",
];

/** Values that are valid for some annotation, so that not only refusals are tried. */
const plausible = [
  "true",
  "false",
  "0",
  "1",
  "100",
  "8m",
  "60s",
  "cookie",
  "balanced",
  "on",
  "GRPC",
  "ewma",
  "basic",
  "users",
  "auth-map",
  "http://auth.tools.svc:81/check?x=$escaped_request_uri",
  "https://$host/start",
  "$request_uri$host",
  "/$1/x",
  "/app",
  "https://a.example/$request_uri",
  "10.0.0.0/8, ::1",
  "https://*.example.com",
  "X-One, X-Two",
  "^m.*$",
  "b.example, *.c.example",
  "308",
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...injections, ...plausible),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ maxLength: 30 }),
);

const hosts = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a.example", "b.example", "*.example", "", "A.Example") },
  { weight: 1, arbitrary: hostileText },
);

const paths = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom("/", "/a", "/a/", "/a/b", "/a(/|$)(.*)", "/[a-z]+", "/a;b", ""),
  },
  { weight: 2, arbitrary: hostileText.map((text) => `/${text}`) },
  { weight: 1, arbitrary: hostileText },
);

const backends: fc.Arbitrary<IngressBackend> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      service: fc.record({
        name: fc.constantFrom("web", "api"),
        port: fc.constantFrom(80, "http"),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      service: fc.option(
        fc.record({
          name: hostileText,
          port: fc.oneof(fc.constant(undefined), fc.double(), hostileText),
        }),
        { nil: undefined },
      ),
    }),
  },
);

const ingressPaths: fc.Arbitrary<IngressPath> = fc.record({
  path: paths,
  pathType: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom("Exact", "Prefix", "ImplementationSpecific") },
    { weight: 1, arbitrary: hostileText },
  ),
  backend: backends,
});

const rules: fc.Arbitrary<IngressRule> = fc.record({
  host: hosts,
  paths: fc.array(ingressPaths, { maxLength: 4 }),
});

const names = annotationGroups.flatMap((group) => group.names);

const annotationNames = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...names).map((name) => `lockstep.dev/${name}`) },
  {
    weight: 1,
    arbitrary: hostileText.map((name) => `nginx.ingress.kubernetes.io/${name}`),
  },
);

/** Switches that other annotations need. */
const switches = fc.subarray([
  ["lockstep.dev/affinity", "cookie"],
  ["lockstep.dev/enable-cors", "true"],
  ["lockstep.dev/use-regex", "true"],
  ["lockstep.dev/rewrite-target", "/$1/x"],
] as const);

/** Of the namespace, so many milliseconds old. */
export function hostileIngress(namespace: string, bornMs: number): fc.Arbitrary<Ingress> {
  return fc
    .record({
      annotations: fc
        .tuple(switches, fc.dictionary(annotationNames, hostileText, { maxKeys: 8 }))
        .map(([on, rest]) => ({ ...Object.fromEntries(on), ...rest })),
      defaultBackend: fc.option(backends, { nil: undefined, freq: 5 }),
      rules: fc.array(rules, { maxLength: 3 }),
      tls: fc.array(
        fc.record({ hosts: fc.array(hosts, { maxLength: 2 }), secretName: hostileText }),
        { maxLength: 2 },
      ),
      name: hostileText,
    })
    .map(({ name, ...own }) => ({
      metadata: metadata(name, { namespace, creationTimestamp: bornMs as WallMs }),
      ingressClassName: "lockstep",
      loadBalancer: [],
      ...own,
    }));
}
