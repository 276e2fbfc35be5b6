import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutSecrets } from "./redacted.ts";

test.each([
  ["Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer (hidden)"],
  ["used eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJl.c2lnbmF0dXJl here", "used (hidden) here"],
  ["FLAG: --token=abc.def", "FLAG: --token=(hidden)"],
  ['{"password":"hunter2","user":"a"}', '{"password":"(hidden)","user":"a"}'],
  ["kubeadm join --token abcdef.0123456789abcdef", "kubeadm join --token (hidden)"],
  ["dial https://admin:hunter2@etcd:2379/x", "dial https://admin:(hidden)@etcd:2379/x"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\nMIIF", "(hidden)"],
  ["client_secret: s3cret, next", "client_secret: (hidden), next"],
])("hides the secret in %j", (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

test.each([
  "--kube-api-qps=300 --kube-api-burst=325",
  "--token-auth-file=/etc/kubernetes/tokens.csv",
  "--service-account-private-key-file=/etc/kubernetes/sa.key",
  'secrets "web-tls" is forbidden: User "system:serviceaccount:shop:web" cannot get resource',
  "https://10.0.0.1:6443/api/v1/namespaces/shop/endpoints/web",
  "kube-system/kube-controller-manager-master-1",
])("keeps %j", (text) => {
  expect(withoutSecrets(text)).toBe(text);
});

test("changes nothing in a second pass", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2_000 }), (text) => {
      const once = withoutSecrets(text);
      expect(withoutSecrets(once)).toBe(once);
    }),
  );
});
