// kubectl and what controllers and nodes do with it: rollouts, scaling, waiting, deletion with and
// without grace and dependents, and nodes that are emptied.
import { expect, it } from "vitest";
import { cells, describeKubectl } from "./kubectl-lab.ts";

describeKubectl("works with workloads", ["--nodes", "2"], (lab) => {
  const { kubectl, refused, file } = lab;
  const path = () =>
    file(
      "web.yaml",
      `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "web:1" }] }
`,
    );
  const rolledOut = async () => {
    const text = await kubectl("rollout", "status", "deployment/web", "--timeout=90s");
    expect(text).toMatch(/deployment "web" successfully rolled out\n$/);
  };
  const image = () =>
    kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}");

  it("refuses what would never run", async () => {
    const daemons = file(
      "daemons.yaml",
      `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "web:1" }] }
`,
    );
    expect(await refused("apply", "-f", daemons)).toContain(
      'daemonsets.apps "web" is forbidden: the lab does not run DaemonSets; use a Deployment',
    );
    expect(await refused("create", "cronjob", "x", "--image=x", "--schedule=@daily")).toContain(
      "the server could not find the requested resource",
    );
  });

  it("rolls out, goes back and restarts", async () => {
    await kubectl("apply", "-f", path());
    await rolledOut();
    await kubectl("set", "image", "deployment/web", "web=web:2");
    await kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=second");
    await rolledOut();
    expect(await kubectl("rollout", "history", "deployment/web")).toBe(
      "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         second\n\n",
    );
    expect(await kubectl("rollout", "history", "deployment/web", "--revision=1")).toMatch(
      /Image:\tweb:1/,
    );
    expect(await kubectl("rollout", "undo", "deployment/web")).toBe(
      "deployment.apps/web rolled back\n",
    );
    await rolledOut();
    expect(await image()).toBe("web:1");
    await kubectl("rollout", "restart", "deployment/web");
    await rolledOut();
    await kubectl("rollout", "pause", "deployment/web");
    await kubectl("rollout", "resume", "deployment/web");
  });

  it("scales and waits for what is to come", async () => {
    expect(await kubectl("scale", "deployment/web", "--replicas=3")).toBe(
      "deployment.apps/web scaled\n",
    );
    const ready = "--for=jsonpath={.status.readyReplicas}=3";
    expect(await kubectl("wait", "deployment/web", ready, "--timeout=90s")).toBe(
      "deployment.apps/web condition met\n",
    );
    await kubectl("wait", "deployment/web", "--for=condition=Available", "--timeout=90s");
    expect(cells(await kubectl("get", "deployment", "web"))).toEqual([
      "NAME | READY | UP-TO-DATE | AVAILABLE | AGE",
      "web | 3/3 | 3 | 3 | AGE",
    ]);
    expect(await kubectl("describe", "deployment", "web")).toMatch(
      /^Replicas: +3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable$/m,
    );
    const never = ["--for=condition=Never", "--timeout=1s"];
    expect(await refused("wait", "deployment/web", ...never)).toBe(
      "error: timed out waiting for the condition on deployments/web\n",
    );
  });

  it("empties a node and lets it take pods again", async () => {
    await kubectl("cordon", "lab-1-node-1");
    expect(cells(await kubectl("get", "node", "lab-1-node-1"))[1]).toMatch(
      /^lab-1-node-1 \| Ready,SchedulingDisabled \| /,
    );
    const drained = await kubectl("drain", "lab-1-node-1", "--ignore-daemonsets", "--timeout=90s");
    expect(drained).toMatch(/node\/lab-1-node-1 drained\n$/);
    await rolledOut();
    const nodes = "jsonpath={range .items[*]}{.spec.nodeName}{'\\n'}{end}";
    const where = () => kubectl("get", "pods", "-l", "app=web", "-o", nodes);
    await expect.poll(where, { timeout: 90_000 }).toBe("lab-1-node-2\n".repeat(3));
    expect(await kubectl("uncordon", "lab-1-node-1")).toBe("node/lab-1-node-1 uncordoned\n");
  });

  it("deletes pods with grace, at once, and by force", async () => {
    const run = async (name: string) => {
      await kubectl("run", name, "--image=i");
      await kubectl("wait", `pod/${name}`, "--for=condition=Ready", "--timeout=90s");
    };
    await run("slow");
    await kubectl("delete", "pod", "slow", "--grace-period=5", "--wait=false");
    await kubectl("wait", "pod/slow", "--for=delete", "--timeout=90s");
    await run("now");
    expect(await kubectl("delete", "pod", "now", "--now")).toMatch(/^pod "now" deleted/);
    await run("forced");
    expect(await kubectl("delete", "pod", "forced", "--grace-period=0", "--force")).toMatch(
      /^pod "forced" force deleted/,
    );
    expect(await refused("get", "pod", "slow", "now", "forced")).toBe(
      ["slow", "now", "forced"]
        .map((name) => `Error from server (NotFound): pods "${name}" not found\n`)
        .join(""),
    );
  });

  it("deletes owners before, after and without what they own", async () => {
    const left = () => kubectl("get", "deployments,replicasets,pods", "-o", "name");
    await kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=90s");
    expect(await left()).toBe("");
    await kubectl("apply", "-f", path());
    await rolledOut();
    await kubectl("delete", "deployment", "web", "--cascade=orphan", "--timeout=90s");
    expect(await left()).toMatch(
      /^replicaset\.apps\/web-\w+\npod\/web-\w+-\w+\npod\/web-\w+-\w+\n$/,
    );
    await kubectl("delete", "replicaset", "-l", "app=web");
    await kubectl("wait", "pod", "-l", "app=web", "--for=delete", "--timeout=90s");
    expect(await left()).toBe("");
  });
});
