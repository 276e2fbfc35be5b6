import { expect, test } from "vitest";
import { firstSteps } from "./view.ts";

const processes = { self: ["node", "/bin/kubectl-lockstep"], variables: {} } as const;

test("one cluster is the current context, so none is named", () => {
  expect(firstSteps({ processes, clusters: 1, path: "/tmp/lab.yaml" })).toMatchInlineSnapshot(`
    "In another terminal:
      export KUBECONFIG=/tmp/lab.yaml
      kubectl get nodes
      kubectl create deployment web --image=web --port=8080 --replicas=3
      kubectl expose deployment web --port=80 --target-port=8080
      kubectl get pods -o wide
      curl http://$(kubectl get pods -l app=web -o jsonpath='{.items[0].status.podIP}'):8080/
      kubectl rollout restart deployment web

    In a third terminal, see how long each change takes:
      kubectl lockstep watch --kubeconfig /tmp/lab.yaml

    In a fourth terminal, run an ingress:
      kubectl lockstep ingress --kubeconfig /tmp/lab.yaml --listen 127.0.0.1
    In the second terminal, create a route and send a request:
      kubectl create ingress web --class=lockstep --rule='web.example/*=web:80'
      curl -H 'Host: web.example' http://127.0.0.1:8080/
    "
  `);
});

test("of several clusters each is named, by its first server", () => {
  const lines = firstSteps({ processes, clusters: 3, path: "/tmp/lab.yaml" }).split("\n");
  const contexts = "--context lab-1 --context lab-2 --context lab-3";
  expect(lines).toContain("  kubectl --context lab-2 get nodes");
  expect(lines.filter((line) => line.includes("kubectl lockstep"))).toEqual([
    `  kubectl lockstep watch --kubeconfig /tmp/lab.yaml ${contexts}`,
    `  kubectl lockstep ingress --kubeconfig /tmp/lab.yaml ${contexts} --listen 127.0.0.1`,
  ]);
});
