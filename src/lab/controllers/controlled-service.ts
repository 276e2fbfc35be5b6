// A service with what only the controllers that publish its endpoints look at.
import { optionalString, recordAt } from "../../kube/kinds/fields.ts";
import type { Kind } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";

export interface ControlledService extends Service {
  /** Where its traffic should stay, if it can: `PreferSameZone` and the like. */
  readonly trafficDistribution: string | undefined;
}

export const controlledServiceKind: Kind<ControlledService> = {
  ...serviceKind,
  project: (object, similar) => ({
    ...serviceKind.project(object, similar),
    trafficDistribution: optionalString(
      recordAt(objectRecord(object), "spec"),
      "trafficDistribution",
    ),
  }),
};
