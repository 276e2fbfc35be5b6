// Paths of fields as Kubernetes writes them in its messages: `spec.ports[0].name`,
// `metadata.annotations[example.com/key]`. A path that names no field at all is `<nil>`.

export const noPath = "<nil>";

export function childPath(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}

export function keyPath(parent: string, key: string | number): string {
  return `${parent}[${key}]`;
}
