// Objects and requests that the cases of server-side apply are made of.
import type { ApplyStep } from "./steps.ts";
import { widgetVersion } from "./widgets.ts";

const core = "/api/v1/namespaces/{case}";
export const maps = `${core}/configmaps`;
export const map = `${maps}/a`;
export const deployments = "/apis/apps/v1/namespaces/{case}/deployments";
export const deployment = `${deployments}/a`;
export const service = `${core}/services/a`;
export const pod = `${core}/pods/a`;

export function configMap(data: object, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, data };
}

export function deploymentOf(spec: object, container: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "a", labels: { app: "a" } },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "web", image: "web:1", ...container }] },
      },
      ...spec,
    },
  };
}

export function serviceOf(ports: readonly object[], spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a" },
    spec: { selector: { app: "a" }, ports, ...spec },
  };
}

export function widgetOf(spec: object): object {
  return { ...widgetVersion, metadata: { name: "a" }, spec };
}

export function post(path: string, body: object, userAgent = "maker/1.0 (linux)"): ApplyStep {
  return { method: "POST", path, body, userAgent };
}

export function put(path: string, body: object, userAgent = "putter/1.0"): ApplyStep {
  return { method: "PUT", path, body, userAgent };
}

export function get(path: string): ApplyStep {
  return { method: "GET", path };
}
