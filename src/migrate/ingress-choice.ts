// Which Ingresses ingress-nginx serves: those of the IngressClasses of its controllers, those with the
// class annotation, and those without a class where a default class or a flag says so.
import { namedClass } from "../decide/routing/ingress-class-filter.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { FoundObjects } from "./found-objects.ts";
import { usualClass, usualController } from "./ingress-nginx.ts";

export interface ChosenIngresses {
  readonly byClass: ReadonlyMap<string, readonly Ingress[]>;
  /** Those of other classes: how many, by class; "" for those without one. */
  readonly others: ReadonlyMap<string, number>;
  /** A sentence where the input does not say which classes count. */
  readonly guessed: string | undefined;
}

/** For Ingresses without a class, where they count. */
const withoutClass = "";

export function chooseIngresses(found: FoundObjects, asked: readonly string[]): ChosenIngresses {
  const { classes, controllers } = found;
  const served = new Set([
    usualController,
    ...controllers.flatMap(({ flags }) => flags.get("controller-class") ?? []),
  ]);
  const named = new Set([
    ...classes
      .filter(({ controller }) => served.has(controller))
      .map(({ metadata }) => metadata.name),
    ...controllers.flatMap(({ flags }) => flags.get("ingress-class") ?? []),
  ]);
  const others = classes.filter(({ controller }) => !served.has(controller));
  const isOther = (name: string) => others.some(({ metadata }) => metadata.name === name);
  if (!isOther(usualClass)) named.add(usualClass);
  const isDefault = classes.find((one) => one.isDefault)?.metadata.name;
  const isWithoutClass =
    controllers.some(({ flags }) => flags.get("watch-ingress-without-class") === "true") ||
    (isDefault !== undefined && named.has(isDefault));
  // Charts and examples often leave the class to values that are not in the files.
  const isUnknown = classes.length === 0 && controllers.length === 0;
  const classOf = (ingress: Ingress): string | undefined => {
    const name = namedClass(ingress);
    if (name === undefined) {
      return isWithoutClass || isUnknown ? (isDefault ?? usualClass) : undefined;
    }
    return named.has(name) ? name : undefined;
  };
  const byClass = new Map<string, Ingress[]>();
  const left = new Map<string, number>();
  let classless = 0;
  for (const ingress of found.ingresses.values()) {
    const name = asked.length > 0 ? askedClass(ingress, asked, classOf) : classOf(ingress);
    if (name === undefined) {
      const other = namedClass(ingress) ?? withoutClass;
      left.set(other, (left.get(other) ?? 0) + 1);
      continue;
    }
    if (namedClass(ingress) === undefined && isUnknown) classless += 1;
    const known = byClass.get(name);
    if (known === undefined) byClass.set(name, [ingress]);
    else known.push(ingress);
  }
  const guessed =
    classless === 0
      ? undefined
      : `whether ingress-nginx serves the Ingresses without a class (${classless}): no IngressClass was read`;
  return { byClass, others: left, guessed };
}

function askedClass(
  ingress: Ingress,
  asked: readonly string[],
  classOf: (ingress: Ingress) => string | undefined,
): string | undefined {
  const name = namedClass(ingress) ?? classOf(ingress);
  return name !== undefined && asked.includes(name) ? name : undefined;
}
