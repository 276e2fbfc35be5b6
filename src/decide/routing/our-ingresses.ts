// The Ingresses of our classes, and how they differ from those of a moment ago. A version of an
// object is never changed, so one that is the same object has nothing new to say: to find the others
// takes a look at each, and nothing of what they hold.
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import { type ClassChoice, ingressFilter } from "./ingress-class-filter.ts";

export interface Asked {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
}

/** A new version of an Ingress joins, and the one before leaves. */
export interface IngressChanges {
  readonly joined: readonly Ingress[];
  readonly left: readonly Ingress[];
}

export class OurIngresses {
  readonly #options: ClassChoice & { readonly className: string };
  #known: ReadonlySet<Ingress> = new Set();

  constructor(options: ClassChoice & { readonly className: string }) {
    this.#options = options;
  }

  /** From now on these are asked for. */
  replace({ ingresses, classes }: Asked): IngressChanges {
    const before = this.#known;
    const { className } = this.#options;
    const now = new Set(ingresses.filter(ingressFilter(classes, className, this.#options)));
    this.#known = now;
    const joined = [...now].filter((ingress) => !before.has(ingress));
    // The number before plus those that joined is the number now: no Ingress left.
    const hasLeavers = before.size + joined.length !== now.size;
    return { joined, left: hasLeavers ? [...before].filter((one) => !now.has(one)) : [] };
  }
}
