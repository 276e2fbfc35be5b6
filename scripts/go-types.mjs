// The tags of Go structs, as far as the JSON and protobuf forms of the Kubernetes types need them.

/** From a file's text to a function: type name → Map of JSON field → its tags. */
export function readGoTypes(source) {
  const structs = new Map(
    [...source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)].map(([, name, body]) => [
      name,
      [...body.matchAll(/^\t(?:(\w+)\s+)?([*[\]\w.]+)\s+`([^`]*)`/gm)].map(readField),
    ]),
  );
  return (name) => collectFields(structs, name);
}

function readField([, , type, tags]) {
  const [name, ...options] = (/json:"([^"]*)"/.exec(tags)?.[1] ?? "").split(",");
  const number = /protobuf:"\w+,(\d+)/.exec(tags)?.[1];
  return {
    name,
    type,
    isInline: options.includes("inline"),
    omitsZero: options.includes("omitempty") && !type.startsWith("*"),
    isPointer: /^(\*|\[\]|map\[)/.test(type),
    isOptional: options.includes("omitempty"),
    isOmittedWhenZero: options.includes("omitzero"),
    proto: number === undefined ? [] : [Number(number)],
  };
}

function collectFields(structs, typeName) {
  const fields = new Map();
  for (const { name, type, isInline, ...tag } of structs.get(typeName) ?? []) {
    const { proto } = tag;
    if (!isInline) {
      fields.set(name, tag);
      continue;
    }
    for (const [inner, innerTag] of collectFields(structs, type.replace(/^\*/, ""))) {
      // An embedded struct without a number of its own (TypeMeta) is not sent at all.
      const path = proto.length === 0 ? [] : [...proto, ...innerTag.proto];
      fields.set(inner, { ...innerTag, proto: path });
    }
  }
  return fields;
}
