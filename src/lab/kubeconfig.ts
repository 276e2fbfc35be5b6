// A kubeconfig for the lab: one context per API server, so that kubectl and every other client can
// talk to it as to any cluster.
import { stringify } from "yaml";

export interface KubeconfigContext {
  readonly name: string;
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  readonly token: string;
}

/** A server without TLS has no authority. */
type WrittenContext = Omit<KubeconfigContext, "ca"> & Partial<Pick<KubeconfigContext, "ca">>;

/** The first context is the current one. */
export function kubeconfig(contexts: readonly WrittenContext[]): string {
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: contexts.map(({ name, server, ca }) => ({
      name,
      cluster: {
        server,
        ...(ca !== undefined && {
          "certificate-authority-data": Buffer.from(ca).toString("base64"),
        }),
      },
    })),
    users: contexts.map(({ name, token }) => ({ name, user: { token } })),
    contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": contexts[0]?.name ?? "",
  };
  return stringify(document, { lineWidth: 0 });
}
