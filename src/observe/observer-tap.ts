// Sees everything that the observer's answers depend on, at the moment and in the order in which it is
// taken in. A recording is such a tap, and what it writes is enough to get the same answers again.
import type { PublishedForm } from "../sources/published-form.ts";
import type { EarlierChange } from "../timeline/earlier-changes.ts";
import type { ClusterStanding } from "./cluster-status.ts";
import type { OpenWatch, WatchMeans } from "./observed-watch.ts";
import type { RoutedInput } from "./routed-witness.ts";
import type { TrafficInput } from "./traffic/traffic-witness.ts";

export interface ObserverTap {
  /** Changes that an earlier run left in flight, before anything else. */
  earlier(changes: readonly EarlierChange[]): void;
  /** Watches of an API server that pass by the tap. */
  openWatches(means: WatchMeans): OpenWatch;
  /** It is known how the cluster publishes, and it will be watched. */
  began(cluster: string, form: PublishedForm): void;
  /** How it stands with the cluster, each time that is looked at. */
  standing(cluster: string, standing: ClusterStanding): void;
  /** Of a proxy replica. */
  routed(replica: string, input: RoutedInput): void;
  /** Of an access log. */
  traffic(log: string, input: TrafficInput): void;
  /** The observer has looked at everything, and is about to say what follows from it. */
  looked(): void;
}
