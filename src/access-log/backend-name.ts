// A proxy's name for a service's port. ingress-nginx joins namespace, service and port with dashes,
// all of which may hold dashes themselves (upstreamName in internal/ingress/controller/util.go). So
// a name can mean several services, and only the list of services can decide.

/** Whether there is a service of this name, `namespace/name`. */
export type IsService = (service: string) => boolean;

/** The longest name of a port, and so as much as can follow the service's name. */
const portNameMax = 15;

/** A namespace and a service have 63 characters at most; a longer name is neither. */
const backendNameMax = 63 + 1 + 63 + 1 + portNameMax;

/** Made by ingress-nginx for requests that belong to no service of an Ingress. */
const defaultBackends = /^(?:upstream-default-backend|custom-default-backend-.*|internal)$/;

/** `namespace/name` of each service that the backend's name can mean. */
export function servicesNamed(backend: string): readonly string[] {
  // Traefik appends where it has learnt of the service.
  const name = backend.replace(/@.*$/s, "");
  if (name.length > backendNameMax || defaultBackends.test(name)) return [];
  const parts = name.split("-");
  const found: string[] = [];
  for (let port = parts.length - 1; port >= 2; port -= 1) {
    const portName = parts.slice(port).join("-");
    if (portName.length > portNameMax || portName === "") break;
    for (let service = 1; service < port; service += 1) {
      const namespace = parts.slice(0, service).join("-");
      found.push(`${namespace}/${parts.slice(service, port).join("-")}`);
    }
    // A number is the port; dashes before it belong to the service.
    if (/^\d+$/.test(portName)) break;
  }
  return found.filter((one) => !one.startsWith("/") && !one.endsWith("/"));
}

/** The existing ones among them; all, while the services are unknown. */
export function servicesMeant(
  backend: string,
  isService: IsService | undefined,
): readonly string[] {
  const named = servicesNamed(backend);
  return isService === undefined ? named : named.filter((one) => isService(one));
}

/** The one service that is meant; undefined when that is not certain. */
export function serviceNamed(backend: string, isService?: IsService): string | undefined {
  const [service, ...others] = servicesMeant(backend, isService);
  return others.length === 0 ? service : undefined;
}
