import { expect, test } from "vitest";
import { ingress, ingressClass, path } from "../../tests/routing/short-ingress.ts";
import { type AskedInCluster, inOtherClasses } from "./other-classes.ts";

const request = { host: "shop.example", path: "/cart" };
const rules = [{ host: "shop.example", paths: [path("/", "web")] }];
const ours = ingressClass("lockstep", "lockstep.dev/ingress");
const nginx = ingressClass("nginx", "k8s.io/ingress-nginx");

function asked(fields: Partial<AskedInCluster>): AskedInCluster {
  return { className: "lockstep", ingresses: [], classes: [ours, nginx], ...fields };
}

const fix = "to serve it here, set its spec.ingressClassName: lockstep";

test.each<[string, AskedInCluster, string]>([
  [
    "of a class that another controller serves",
    asked({ ingresses: [ingress("web", rules, { ingressClassName: "nginx" })] }),
    "Ingress shop/web has this host and path but class nginx, which k8s.io/ingress-nginx " +
      `serves; ${fix}`,
  ],
  [
    "with the class in the annotation",
    asked({
      ingresses: [
        ingress("web", rules, {
          ingressClassName: undefined,
          annotations: { "kubernetes.io/ingress.class": "traefik" },
        }),
      ],
    }),
    `Ingress shop/web has this host and path but its class traefik does not exist; ${fix}`,
  ],
  [
    "without a class",
    asked({ ingresses: [ingress("web", rules, { ingressClassName: undefined })] }),
    "Ingress shop/web has this host and path but no class, and no class of this ingress is " +
      `the default; ${fix}`,
  ],
  [
    "of our class's name, which another controller has taken",
    asked({
      ingresses: [ingress("web", rules)],
      classes: [ingressClass("lockstep", "example.com/other")],
    }),
    "Ingress shop/web has this host and path and class lockstep, but the IngressClass " +
      "belongs to example.com/other; delete the IngressClass and create it with " +
      "spec.controller: lockstep.dev/ingress",
  ],
])("an Ingress %s is reported with the change it needs", (_, given, sentences) => {
  expect(inOtherClasses(request, given)).toEqual([sentences]);
});

test.each<[string, AskedInCluster]>([
  ["ours", asked({ ingresses: [ingress("web", rules)] })],
  [
    "of the default class, which is ours",
    asked({
      ingresses: [ingress("web", rules, { ingressClassName: undefined })],
      classes: [{ ...ours, isDefault: true }],
    }),
  ],
  [
    "for another path",
    asked({
      ingresses: [
        ingress("web", [{ host: "shop.example", paths: [path("/other", "web")] }], {
          ingressClassName: "nginx",
        }),
      ],
    }),
  ],
  [
    "for every host",
    asked({
      ingresses: [
        ingress("web", [{ host: "", paths: [path("/", "web")] }], { ingressClassName: "nginx" }),
      ],
    }),
  ],
])("an Ingress that is %s is none of them", (_, given) => {
  expect(inOtherClasses(request, given)).toEqual([]);
});

test("a wildcard names the host too, and of many only some are reported", () => {
  const wild = [{ host: "*.Example", paths: [path("", "web", "ImplementationSpecific")] }];
  const ingresses = [1, 2, 3, 4, 5].map((number) =>
    ingress(`web-${number}`, wild, { ingressClassName: "nginx" }),
  );
  const sentences = inOtherClasses(request, asked({ ingresses }));
  expect(sentences.map((sentence) => sentence.split(" has this")[0])).toEqual([
    "Ingress shop/web-1",
    "Ingress shop/web-2",
    "Ingress shop/web-3",
    "2 more Ingresses of other classes have this host and path",
  ]);
});
