// Annotations by their names alone, and what comes of them.
import type { RoutePolicy } from "../../src/decide/route-policy.ts";
import { readAnnotations } from "../../src/decide/routing/ingress/annotations.ts";
import {
  type IngressSettings,
  plainSettings,
} from "../../src/decide/routing/ingress/ingress-settings.ts";

const nginx = "nginx.ingress.kubernetes.io/";

/** Names without a slash are ingress-nginx's. */
export type Annotations = Readonly<Record<string, string>>;

/** The non-default settings of the annotations, and their problems. */
export function read(annotations: Annotations): {
  readonly policy: RoutePolicy;
  readonly settings?: Partial<IngressSettings>;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const full = Object.entries(annotations).map(([name, text]) => [
    name.includes("/") ? name : `${nginx}${name}`,
    text,
  ]);
  const settings = readAnnotations(Object.fromEntries(full), (reason, message) => {
    problems.push(`${reason}: ${message.replace(`annotation ${nginx}`, "")}`);
  });
  const { policy, ...rest } = settings;
  const own = Object.entries(rest).filter(
    ([name, value]) => value !== Reflect.get(plainSettings, name),
  );
  return { policy, ...(own.length > 0 && { settings: Object.fromEntries(own) }), problems };
}
