// Where a request is sent elsewhere, and what path an endpoint sees.
import type { Redirect, RedirectStatus } from "../../../route-policy.ts";
import {
  type AnnotationGroup,
  type DifferenceOf,
  present,
  seenInRoutes,
} from "../annotation-group.ts";
import type { AnnotationReader } from "../annotation-reader.ts";
import {
  absolutePath,
  boolean,
  isWord,
  location,
  oneOf,
  rewriteTarget,
} from "../annotation-values.ts";

export const tlsRedirects: AnnotationGroup = {
  names: ["ssl-redirect", "force-ssl-redirect", "preserve-trailing-slash"],
  differences: {
    "ssl-redirect": seenInRoutes,
    "preserve-trailing-slash": ({ value }) =>
      isWord(value, false)
        ? "redirects to https keep a trailing slash; ingress-nginx removes it"
        : undefined,
  },
  read: (annotations) => {
    // A slash at the end always stays, so that there is nothing to choose.
    annotations.read("preserve-trailing-slash", boolean);
    return {
      sslRedirect: annotations.read("ssl-redirect", boolean),
      forceSslRedirect: annotations.read("force-ssl-redirect", boolean) ?? false,
    };
  },
};

export const wwwRedirect: AnnotationGroup = {
  names: ["from-to-www-redirect"],
  differences: {
    "from-to-www-redirect":
      "the redirect keeps a trailing slash, ingress-nginx removes it; a rule with the other name " +
      "as host has priority",
  },
  read: (annotations) => ({
    redirectsWww: annotations.read("from-to-www-redirect", boolean) ?? false,
  }),
};

export const rewrites: AnnotationGroup = {
  names: ["rewrite-target", "use-regex", "app-root"],
  differences: {
    "rewrite-target": seenInRoutes,
    "use-regex": seenInRoutes,
    "app-root": ({ setting }) => pathOnly(setting("relative-redirects") === "true"),
  },
  read: (annotations) => ({
    policy: present({
      rewrite: annotations.read("rewrite-target", rewriteTarget),
      appRoot: annotations.read("app-root", absolutePath),
    }),
    useRegex: annotations.read("use-regex", boolean) ?? false,
  }),
};

const ofPath: DifferenceOf = ({ value, has, setting }) =>
  value.startsWith("/")
    ? pathOnly(has("relative-redirects") || setting("relative-redirects") === "true")
    : undefined;

/** A browser goes to the same place. */
function pathOnly(isRelative: boolean): string | undefined {
  if (isRelative) return undefined;
  return "Location is the path only; ingress-nginx adds scheme and host";
}

export const redirects: AnnotationGroup = {
  names: [
    "permanent-redirect",
    "permanent-redirect-code",
    "temporal-redirect",
    "temporal-redirect-code",
  ],
  differences: { "permanent-redirect": ofPath, "temporal-redirect": ofPath },
  read: (annotations) => {
    const temporal = redirectOf(annotations, "temporal-redirect", 302);
    const permanent = redirectOf(annotations, "permanent-redirect", 301);
    if (temporal !== undefined && permanent !== undefined) {
      annotations.report("permanent-redirect", "temporal-redirect overrides it, so it is ignored");
    }
    return { policy: present({ redirect: temporal ?? permanent }) };
  },
};

const statuses: Readonly<Record<string, RedirectStatus>> = {
  301: 301,
  302: 302,
  303: 303,
  307: 307,
  308: 308,
};

function redirectOf(
  annotations: AnnotationReader,
  name: string,
  usual: RedirectStatus,
): Redirect | undefined {
  const target = annotations.read(name, location, "so nothing is redirected");
  const status = annotations.read(`${name}-code`, oneOf(statuses), `so ${usual} is used`) ?? usual;
  return target === undefined ? undefined : { location: target, status };
}
