// More names for the hosts of an Ingress.
import { hostOf } from "../../host-name.ts";
import { shown } from "../../shown-text.ts";
import type { AnnotationGroup } from "../annotation-group.ts";
import { itemsOf } from "../annotation-values.ts";

/** Each of them is a host with all rules of the Ingress. */
const maxAliases = 100;

export const aliases: AnnotationGroup = {
  names: ["server-alias"],
  differences: {
    "server-alias":
      "rules of other Ingresses for the same hosts count only from the same namespace",
  },
  read: (annotations) => {
    const items = itemsOf(annotations.text("server-alias"));
    const found = new Set<string>();
    for (const item of items.slice(0, maxAliases)) {
      const host = hostOf(item);
      if (host !== undefined) found.add(host);
      else
        annotations.report("server-alias", `${shown(item)} is not a host name, so it is ignored`);
    }
    if (items.length > maxAliases) {
      annotations.report("server-alias", `only the first ${maxAliases} names are used`);
    }
    return { aliases: [...found] };
  },
};
