// What the trials of a release route requests to: a Deployment, its Service and an Ingress, created through
// the API, so that no kubectl is needed.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { parse } from "yaml";

/** In the first cluster of the kubeconfig at this path. */
export async function createShop(path) {
  const kubeconfig = parse(readFileSync(path, "utf8"));
  const labels = { app: "shop" };
  const containers = [{ name: "shop", image: "shop", ports: [{ containerPort: 8080 }] }];
  const template = { metadata: { labels }, spec: { containers } };
  await create(kubeconfig, "/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "shop" },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  await create(kubeconfig, "/api/v1/namespaces/default/services", {
    metadata: { name: "shop" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  });
  const backend = { service: { name: "shop", port: { number: 80 } } };
  const paths = [{ path: "/", pathType: "Prefix", backend }];
  await create(kubeconfig, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
    metadata: { name: "shop" },
    spec: { ingressClassName: "lockstep", rules: [{ http: { paths } }] },
  });
}

function create(kubeconfig, path, object) {
  const { server, "certificate-authority-data": ca } = kubeconfig.clusters[0].cluster;
  const { token } = kubeconfig.users[0].user;
  const body = JSON.stringify(object);
  return new Promise((resolve, reject) => {
    const options = {
      method: "POST",
      ca: Buffer.from(ca ?? "", "base64"),
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    };
    const sent = request(server + path, options, (answer) => {
      answer.resume();
      if (answer.statusCode === 201) resolve();
      else reject(new Error(`${path} answered ${answer.statusCode}`));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
