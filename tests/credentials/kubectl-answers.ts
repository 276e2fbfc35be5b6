// Kubeconfig files, and the answers of kubectl 1.32 to
// `kubectl config view --raw --flatten --minify --context CONTEXT -o json` for them. Unit tests compare
// our reader with the recorded answers; an end-to-end test compares them with the kubectl of the machine.

export interface KubectlCase {
  readonly title: string;
  /** By path, in a folder of their own. */
  readonly files: Readonly<Record<string, string>>;
  /** The files in $KUBECONFIG, in that folder. */
  readonly kubeconfig: readonly string[];
  /** The current one when absent. */
  readonly context?: string;
  /** The content of the two entries, or that kubectl fails. */
  readonly answer: KubectlAnswer | "refused";
}

export interface KubectlAnswer {
  readonly context: string;
  readonly cluster: {
    readonly server: string;
    readonly "certificate-authority-data"?: string;
    readonly "tls-server-name"?: string;
    readonly "insecure-skip-tls-verify"?: boolean;
  };
  readonly user: Readonly<Record<string, string | undefined>>;
}

const files = {
  "one/config": `
apiVersion: v1
kind: Config
clusters:
- {name: shared, cluster: {server: "https://one.example", certificate-authority: ca.pem}}
- {name: b, cluster: {server: "https://b.example"}}
users:
- {name: u, user: {client-certificate: ../certs/cert.pem, client-key: ../certs/key.pem}}
contexts:
- {name: x, context: {cluster: shared, user: u}}
`,
  "two/config": `
current-context: z
clusters:
- {name: shared, cluster: {server: "https://two.example", tls-server-name: two}}
- {name: own, cluster: {server: "https://own.example", certificate-authority: ca.pem}}
users:
- {name: u, user: {token: second}}
- {name: v, user: {username: ann, password: pw}}
contexts:
- {name: x, context: {cluster: b, user: v}}
- {name: z, context: {cluster: own, user: v}}
- {name: mixed, context: {cluster: b, user: u}}
`,
  "three/config": "{current-context: x}",
  "one/ca.pem": "-----BEGIN CERTIFICATE-----\none\n-----END CERTIFICATE-----\n",
  "two/ca.pem": "-----BEGIN CERTIFICATE-----\ntwo\n-----END CERTIFICATE-----\n",
  "certs/cert.pem": "-----BEGIN CERTIFICATE-----\nclient\n-----END CERTIFICATE-----\n",
  "certs/key.pem": "-----BEGIN PRIVATE KEY-----\nkey\n-----END PRIVATE KEY-----\n",
};

export const kubectlCases: readonly KubectlCase[] = [
  {
    title: "the first file that has an entry wins as a whole",
    files,
    kubeconfig: ["one/config", "two/config"],
    context: "x",
    answer: {
      context: "x",
      cluster: {
        server: "https://one.example",
        "certificate-authority-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCm9uZQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
      },
      user: {
        "client-certificate-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmNsaWVudAotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
        "client-key-data":
          "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmtleQotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg==",
      },
    },
  },
  {
    title: "paths start at the folder of the file that has them",
    files,
    kubeconfig: ["one/config", "two/config"],
    context: "z",
    answer: {
      context: "z",
      cluster: {
        server: "https://own.example",
        "certificate-authority-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCnR3bwotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
      },
      user: { username: "ann", password: "pw" },
    },
  },
  {
    title: "the order of the files decides",
    files,
    kubeconfig: ["two/config", "one/config"],
    context: "x",
    answer: {
      context: "x",
      cluster: { server: "https://b.example" },
      user: { username: "ann", password: "pw" },
    },
  },
  {
    title: "entries of several files combine",
    files,
    kubeconfig: ["one/config", "two/config"],
    context: "mixed",
    answer: {
      context: "mixed",
      cluster: { server: "https://b.example" },
      user: {
        "client-certificate-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmNsaWVudAotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
        "client-key-data":
          "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmtleQotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg==",
      },
    },
  },
  {
    title: "the first current context wins",
    files,
    kubeconfig: ["one/config", "two/config", "three/config"],
    answer: {
      context: "z",
      cluster: {
        server: "https://own.example",
        "certificate-authority-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCnR3bwotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
      },
      user: { username: "ann", password: "pw" },
    },
  },
  {
    title: "absent files and repeated files do not count",
    files,
    kubeconfig: ["absent", "one/config", "two/config", "one/config"],
    answer: {
      context: "z",
      cluster: {
        server: "https://own.example",
        "certificate-authority-data":
          "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCnR3bwotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
      },
      user: { username: "ann", password: "pw" },
    },
  },
  {
    title: "a context that is absent",
    files,
    kubeconfig: ["one/config"],
    context: "z",
    answer: "refused",
  },
  { title: "no current context", files, kubeconfig: ["one/config"], answer: "refused" },
  {
    title: "unknown fields",
    files: {
      config:
        'preferences: {colors: true}\nsomething: [1]\nclusters: [{name: c, cluster: {server: "https://c.example", future: {a: [1]}}}]\nusers: [{name: u, user: {token: t, more: 3}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "null fields",
    files: {
      config:
        'extensions: null\nclusters: [{name: c, cluster: {server: "https://c.example", certificate-authority: null}}]\nusers: [{name: u, user: {token: t, exec: null, username: ~}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "booleans of YAML 1.1",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example", insecure-skip-tls-verify: yes}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: {
      context: "a",
      cluster: { server: "https://c.example", "insecure-skip-tls-verify": true },
      user: { token: "t" },
    },
  },
  {
    title: "anchors and merged maps",
    files: {
      config:
        'shared: &shared {username: &p ann}\nclusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {<<: *shared, password: *p}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: {
      context: "a",
      cluster: { server: "https://c.example" },
      user: { username: "ann", password: "ann" },
    },
  },
  {
    title: "a key set twice",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: first, token: second}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "second" } },
  },
  {
    title: "further documents",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n---\ncurrent-context: b\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "a byte order mark",
    files: {
      config:
        '﻿clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "JSON",
    files: {
      config:
        '{"current-context":"a","clusters":[{"name":"c","cluster":{"server":"https://c.example"}}],"users":[{"name":"u","user":{"token":"t"}}],"contexts":[{"name":"a","context":{"cluster":"c","user":"u"}}]}',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "times and dates are strings",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {username: 2020-01-01, password: 12:30:45}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: {
      context: "a",
      cluster: { server: "https://c.example" },
      user: { username: "2020-01-01", password: "12:30:45" },
    },
  },
  {
    title: "field names are case-sensitive",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: t, Token: other}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: { context: "a", cluster: { server: "https://c.example" }, user: { token: "t" } },
  },
  {
    title: "a number for a string",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {username: ann, password: 1234}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "a boolean for a string",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {username: ann, password: no}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "a string for a boolean",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example", insecure-skip-tls-verify: "true"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "two entries of one name",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {}}, {name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "another kind",
    files: {
      config:
        'apiVersion: v1\nkind: Pod\nclusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "another version",
    files: {
      config:
        'apiVersion: v2\nkind: Config\nclusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "a map for a list",
    files: { config: "clusters: {c: {server: x}}\n" },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "a list for a map",
    files: {
      config:
        "clusters: [{name: c, cluster: []}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n",
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "an alias without an anchor",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: *nothing}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  {
    title: "an anchor that contains itself",
    files: {
      config:
        'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: &u {token: t, more: *u}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a\n',
    },
    kubeconfig: ["config"],
    answer: "refused",
  },
  { title: "text", files: { config: "just text" }, kubeconfig: ["config"], answer: "refused" },
  { title: "an empty file", files: { config: "" }, kubeconfig: ["config"], answer: "refused" },
];
