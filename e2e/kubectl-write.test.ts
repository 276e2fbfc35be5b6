// How kubectl changes things: apply in both ways, patches, edit, replace, diff and the commands
// that create one kind each; and who may do what.
import { expect, it } from "vitest";
import { cells, describeKubectl, kubectlMinor } from "./kubectl-lab.ts";

const settings = (more: string) => `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { colour: blue${more} }
---
apiVersion: v1
kind: Service
metadata: { name: shop, labels: { app: shop } }
spec: { selector: { app: shop }, ports: [{ name: http, port: 80 }] }
`;

describeKubectl("changes", ["--nodes", "0"], (lab) => {
  const { kubectl, kubectlWith, refused, file } = lab;
  const data = () => kubectl("get", "configmap", "settings", "-o", "jsonpath={.data}");

  it("applies on the client's side, and takes away what is no longer there", async () => {
    const path = file("settings.yaml", settings(", size: large"));
    expect(await kubectl("apply", "-f", path)).toBe(
      "configmap/settings created\nservice/shop created\n",
    );
    await kubectl("patch", "configmap", "settings", "-p", '{"data":{"other":"kept"}}');
    file("settings.yaml", settings(", shape: round"));
    expect(await refusedDiff(path)).toMatch(/^- {2}size: large$/m);
    expect(await kubectl("apply", "-f", path, "--dry-run=server")).toBe(
      "configmap/settings configured (server dry run)\nservice/shop unchanged (server dry run)\n",
    );
    expect(await kubectl("apply", "-f", path)).toBe(
      "configmap/settings configured\nservice/shop unchanged\n",
    );
    expect(await data()).toBe('{"colour":"blue","other":"kept","shape":"round"}');
    expect(await kubectl("diff", "-f", path)).toBe("");
    expect(await kubectl("apply", "view-last-applied", "configmap/settings")).toContain(
      "shape: round",
    );
  });

  it("applies on the server's side, and says who else owns a field", async () => {
    const path = file(
      "colour.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: owned }\ndata: { colour: blue }\n",
    );
    const apply = ["apply", "--server-side", "-f", path];
    expect(await kubectl(...apply)).toBe("configmap/owned serverside-applied\n");
    const red = file(
      "red.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: owned }\ndata: { colour: red }\n",
    );
    const other = ["apply", "--server-side", "--field-manager=painter", "-f", red];
    expect(await refused(...other)).toContain(
      'Apply failed with 1 conflict: conflict with "kubectl": .data.colour',
    );
    await kubectl(...other, "--force-conflicts");
    const managers = "jsonpath={.metadata.managedFields[*].manager}";
    expect(await kubectl("get", "cm", "owned", "-o", managers, "--show-managed-fields")).toBe(
      "painter",
    );
  });

  it("patches in each way, the status too", async () => {
    const patch = (type: string, body: string, ...more: string[]) =>
      kubectl("patch", "service", "shop", `--type=${type}`, "-p", body, ...more);
    await patch(
      "strategic",
      '{"spec":{"ports":[{"port":80,"name":"web"},{"port":81,"name":"b"}]}}',
    );
    await patch("merge", '{"metadata":{"labels":{"tier":"gold"}}}');
    await patch("json", '[{"op":"replace","path":"/spec/selector/app","value":"store"}]');
    const address = '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}';
    await patch("merge", '{"spec":{"type":"LoadBalancer"}}');
    await patch("merge", address, "--subresource=status");
    const shown =
      "jsonpath={.spec.ports[*].name} {.metadata.labels} {.spec.selector} {.status.loadBalancer}";
    expect(await kubectl("get", "service", "shop", "-o", shown)).toBe(
      'web b {"app":"shop","tier":"gold"} {"app":"store"} {"ingress":[{"ip":"192.0.2.1","ipMode":"VIP"}]}',
    );
    expect(cells(await kubectl("get", "service", "shop"))[1]).toMatch(/ \| 192\.0\.2\.1 \| 80:\d+/);
    expect(await refused("patch", "service", "shop", "-p", '{"spec":{"type":"Wrong"}}')).toContain(
      'spec.type: Unsupported value: "Wrong": supported values: ',
    );
  });

  it("edits by an editor, replaces, labels and annotates", async () => {
    const editor = { KUBE_EDITOR: "sed -i s/round/square/" };
    expect(await kubectlWith(editor, "edit", "configmap", "settings")).toBe(
      "configmap/settings edited\n",
    );
    expect(await data()).toContain('"shape":"square"');
    expect(await kubectl("label", "configmap", "settings", "a=b", "c=d")).toBe(
      "configmap/settings labeled\n",
    );
    expect(await refused("label", "configmap", "settings", "a=other")).toContain(
      "'a' already has a value (b), and --overwrite is false",
    );
    await kubectl("label", "configmap", "settings", "a=z", "c-", "--overwrite");
    await kubectl("annotate", "configmap", "settings", "note=kept");
    const meta = "jsonpath={.metadata.labels} {.metadata.annotations.note}";
    expect(await kubectl("get", "cm", "settings", "-o", meta)).toBe('{"a":"z"} kept');
    const path = file("settings.yaml", settings(""));
    expect(await kubectl("replace", "-f", path)).toContain("configmap/settings replaced\n");
    expect(await data()).toBe('{"colour":"blue"}');
  });

  it("creates one kind at a time", async () => {
    expect(await kubectl("create", "namespace", "team")).toBe("namespace/team created\n");
    const create = (...args: string[]) => kubectl("-n", "team", "create", ...args);
    await create("secret", "generic", "password", "--from-literal=value=hidden");
    await create("deployment", "web", "--image=web", "--replicas=2");
    await create("service", "nodeport", "door", "--tcp=80:8080");
    await create("ingress", "front", "--rule=shop.example/*=door:80");
    await create("serviceaccount", "robot");
    await create("role", "reader", "--verb=get,list", "--resource=pods");
    await create("rolebinding", "robot-reads", "--role=reader", "--serviceaccount=team:robot");
    expect(await kubectl("-n", "team", "expose", "deployment", "web", "--port=80")).toBe(
      "service/web exposed\n",
    );
    expect(await kubectl("-n", "team", "run", "one", "--image=one")).toBe("pod/one created\n");
    await kubectl("-n", "team", "set", "image", "deployment/web", "web=web:2");
    expect(cells(await kubectl("-n", "team", "get", "deploy,svc,secret", "-o", "wide"))).toEqual([
      "NAME | READY | UP-TO-DATE | AVAILABLE | AGE | CONTAINERS | IMAGES | SELECTOR",
      expect.stringMatching(/^deployment\.apps\/web \| 0\/2 \| .* \| web \| web:2 \| app=web$/),
      "",
      "NAME | TYPE | CLUSTER-IP | EXTERNAL-IP | PORT(S) | AGE | SELECTOR",
      expect.stringMatching(
        /^service\/door \| NodePort \| CLUSTER-IP \| <none> \| 80:\d+\/TCP \| AGE \| app=door$/,
      ),
      "service/web | ClusterIP | CLUSTER-IP | <none> | 80/TCP | AGE | app=web",
      "",
      "NAME | TYPE | DATA | AGE",
      "secret/password | Opaque | 1 | AGE",
    ]);
    expect(cells(await kubectl("-n", "team", "get", "rolebindings", "-o", "wide"))).toEqual([
      "NAME | ROLE | AGE | USERS | GROUPS | SERVICEACCOUNTS",
      "robot-reads | Role/reader | AGE | team/robot",
    ]);
  });

  it("knows who may do what", async () => {
    // Up to 1.27 kubectl asks for a version of the review that no server has any more.
    const whoami = [
      "ATTRIBUTE | VALUE",
      "Username | lab-admin",
      "Groups | [system:masters system:authenticated]",
    ];
    const robot = "--as=system:serviceaccount:team:robot";
    expect(await kubectl("auth", "can-i", "delete", "nodes")).toContain("yes\n");
    expect(await kubectl("-n", "team", "auth", "can-i", "list", "pods", robot)).toBe("yes\n");
    await refused("-n", "team", "auth", "can-i", "delete", "pods", robot);
    expect(await refused("-n", "team", "delete", "pod", "one", robot)).toBe(
      'Error from server (Forbidden): pods "one" is forbidden: ' +
        'User "system:serviceaccount:team:robot" cannot delete resource "pods" in API group "" ' +
        'in the namespace "team"\n',
    );
    expect(kubectlMinor < 28 ? whoami : cells(await kubectl("auth", "whoami"))).toEqual(whoami);
    const token = (await kubectl("-n", "team", "create", "token", "robot")).trim();
    expect(await kubectl("-n", "team", `--token=${token}`, "get", "pods", "-o", "name")).toContain(
      "pod/one\n",
    );
  });

  it("deletes a namespace with everything in it", async () => {
    expect(await kubectl("delete", "namespace", "team", "--timeout=90s")).toBe(
      'namespace "team" deleted\n',
    );
    expect(await refused("-n", "team", "get", "pod", "one")).toBe(
      'Error from server (NotFound): namespaces "team" not found\n',
    );
  });

  /** The difference that makes `kubectl diff` end with 1. */
  async function refusedDiff(path: string): Promise<string> {
    try {
      await kubectl("diff", "-f", path);
    } catch (error) {
      return error instanceof Error && "stdout" in error ? String(error.stdout) : String(error);
    }
    throw new Error("there is no difference");
  }
});
