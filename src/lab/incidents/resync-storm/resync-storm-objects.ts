// The services of the incident `resync-storm`, as they are in storage before anything starts: nearly
// all headless, all of them with the one pod of the crowd behind them, which nothing ever changes.

export interface CrowdSize {
  /** Beside the shop's own. */
  readonly services: number;
  /** So many of them have no cluster address. */
  readonly headless: number;
}

const crowd = "other";
const port = 80;
const containerPort = 8080;

/** Headless services and others in no order that could matter: queues are filled by chance. */
export function* crowdObjects({ services, headless }: CrowdSize): Generator<object, void, void> {
  yield {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: crowd, labels: { app: crowd } },
    spec: { containers: [{ name: crowd, image: crowd, ports: [{ containerPort }] }] },
  };
  for (let index = 0; index < services; index += 1) {
    yield {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `${crowd}-${index + 1}` },
      spec: {
        ...(index < headless ? { clusterIP: "None" } : {}),
        selector: { app: crowd },
        ports: [{ port, targetPort: containerPort }],
      },
    };
  }
}
