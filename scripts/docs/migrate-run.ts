// The examples of docs/migrate.md: a folder of manifests as a team might have it, checked by `lockstep
// migrate check` in virtual time.
import { runProgram } from "../../src/cli/program.ts";
import { simulate } from "../../src/simulation/simulation.ts";
import { DocsTerminal, textOf } from "./docs-terminal.ts";

const seed = 1;

interface Shown {
  readonly name: string;
  readonly annotations: readonly string[];
  readonly path: string;
  readonly pathType: string;
  readonly host?: string;
}

const shown: readonly Shown[] = [
  {
    name: "web",
    annotations: ['proxy-body-size: "8m"', 'ssl-redirect: "true"'],
    path: "/",
    pathType: "Prefix",
  },
  {
    name: "api",
    annotations: ["rewrite-target: /$2", 'limit-rps: "50"'],
    path: "/v1(/|$)(.*)",
    pathType: "ImplementationSpecific",
    host: "web.example",
  },
  {
    name: "admin",
    annotations: ["configuration-snippet: 'more_set_headers \"X-Frame-Options: DENY\";'"],
    path: "/",
    pathType: "Prefix",
  },
];

const nginx = "nginx.ingress.kubernetes.io";

function manifest({ name, annotations, path, pathType, host = `${name}.example` }: Shown): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ${name}
  namespace: shop
  annotations:
${annotations.map((line) => `    ${nginx}/${line}\n`).join("")}spec:
  ingressClassName: nginx
  rules:
    - host: ${host}
      http:
        paths:
          - path: ${path}
            pathType: ${pathType}
            backend: { service: { name: ${name}, port: { number: 80 } } }
`;
}

const settings = `apiVersion: v1
kind: ConfigMap
metadata: { name: ingress-nginx-controller, namespace: ingress-nginx }
data:
  custom-http-errors: "404,503"
  use-forwarded-headers: "true"
`;

/** The output of `lockstep migrate check manifests/`. */
export function migrateRun(): Promise<string> {
  return simulate({ seed }, async (simulation) => {
    const environment = simulation.host("here");
    await environment.files.makeDirectory("/manifests");
    const documents = [...shown.map(manifest), settings];
    await environment.files.write("/manifests/shop.yaml", documents.join("---\n"));
    const terminal = new DocsTerminal({ columns: 80, showsErrors: false });
    const { signal: stop } = new AbortController();
    await runProgram({ environment, terminal, stop }, "", ["migrate", "check", "/manifests"]);
    return textOf(terminal.lines());
  });
}
