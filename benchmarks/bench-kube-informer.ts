// One informer in a process of its own, started with --expose-gc: lists and watches the pods of the
// benchmark's server and prints its time and memory as JSON. Arguments: informer, port, pods,
// events.
import { Registry } from "prom-client";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { podKind } from "../src/kube/kinds/pod.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import { type InformerFigures, InformerMeter } from "./bench-informer-meter.ts";

const [who = "", port = "", podCount = "", eventCount = ""] = process.argv.slice(2);
const server = `http://127.0.0.1:${port}`;
const pods = Number(podCount);
const events = Number(eventCount);

/** Holds what an informer keeps, so that it is not collected before it is measured. */
const kept: unknown[] = [];
const figures = await (who === "lockstep" ? measureLockstep() : measureClientNode());
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));

async function measureLockstep(): Promise<InformerFigures> {
  const environment = nodeEnvironment();
  const client = new HttpKubeClient({
    ...environment,
    cluster: fixedAccess({ name: "bench", server }),
    userAgent: "lockstep-bench",
  });
  const meter = new InformerMeter({ pods, events });
  const reflector = new Reflector({
    ...environment,
    kind: podKind,
    client,
    cluster: "bench",
    indexes: { node: (pod) => pod.nodeName },
    handlers: [(change) => meter.note(change.type)],
    metrics: new Registry(),
  });
  kept.push(reflector);
  return meter.measure(() => reflector.start());
}

async function measureClientNode(): Promise<InformerFigures> {
  const { CoreV1Api, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: "bench", server, skipTLSVerify: true }],
    users: [{ name: "bench" }],
    contexts: [{ name: "bench", cluster: "bench", user: "bench" }],
    currentContext: "bench",
  });
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, "/api/v1/pods", () => api.listPodForAllNamespaces());
  const meter = new InformerMeter({ pods, events });
  informer.on("add", () => meter.note("added"));
  informer.on("update", () => meter.note("updated"));
  kept.push(informer);
  return meter.measure(() => void informer.start());
}
