// The kubeconfig is what clients read, so the whole of it is asserted.
import { expect, it } from "vitest";
import { kubeconfig } from "./kubeconfig.ts";

it("has a cluster, a user and a context per API server, the first being current", () => {
  const text = kubeconfig([
    { name: "lab-1", server: "https://127.0.0.1:1", ca: "pem", token: "secret" },
    { name: "lab-2", server: "https://127.0.0.1:2", ca: "pem", token: "other" },
  ]);
  expect(text).toBe(`apiVersion: v1
kind: Config
clusters:
  - name: lab-1
    cluster:
      server: https://127.0.0.1:1
      certificate-authority-data: cGVt
  - name: lab-2
    cluster:
      server: https://127.0.0.1:2
      certificate-authority-data: cGVt
users:
  - name: lab-1
    user:
      token: secret
  - name: lab-2
    user:
      token: other
contexts:
  - name: lab-1
    context:
      cluster: lab-1
      user: lab-1
  - name: lab-2
    context:
      cluster: lab-2
      user: lab-2
current-context: lab-1
`);
});
