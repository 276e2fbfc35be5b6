// The rules for names, keys and label values. Each function returns the problems, in the words of
// Kubernetes; an empty list means that the name is valid.

/** Lengths from RFC 1123 and RFC 1035, as Kubernetes applies them. */
const labelMaxLength = 63;
const subdomainMaxLength = 253;

const label1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelNameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

export type NameRule = (name: string) => readonly string[];

export function dnsLabel(name: string): readonly string[] {
  return check(name, labelMaxLength, label1123, {
    rule: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    examples: ["my-name", "123-abc"],
  });
}

const subdomainRule = {
  rule: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  examples: ["example.com"],
};

export function dnsSubdomain(name: string): readonly string[] {
  return check(name, subdomainMaxLength, subdomain1123, subdomainRule);
}

/** The same rule where the server's wording is the newer one. */
export function subdomainInBytes(name: string): readonly string[] {
  return check(name, subdomainMaxLength, subdomain1123, { ...subdomainRule, unit: "bytes" });
}

/** A domain name of at least two labels. */
export function domainName(name: string): readonly string[] {
  const bare = name.replace(/\.$/, "");
  const problems = dnsSubdomain(bare);
  if (problems.length > 0) {
    return [problems.join(",")];
  }
  return bare.includes(".")
    ? []
    : ["should be a domain with at least two segments separated by dots"];
}

const httpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

/** `example.com/anything`: how controllers are named. */
export function domainPrefixedPath(text: string): readonly string[] {
  const slash = text.indexOf("/");
  const host = text.slice(0, slash);
  const path = text.slice(slash + 1);
  if (slash <= 0 || path === "") {
    return ['must be a domain-prefixed path (such as "acme.io/foo")'];
  }
  const rule = { rule: "Invalid path", examples: [] };
  return [...dnsSubdomain(host), ...check(path, Number.POSITIVE_INFINITY, httpPath, rule)];
}

/** The longest name of a port, from RFC 6335. */
const portNameMaxLength = 15;

/** A port by its name, as pods declare and services target it. */
export function portName(name: string): readonly string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [name.length <= portNameMaxLength, tooLong(portNameMaxLength)],
    [
      /^[-a-z0-9]+$/.test(name),
      "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    ],
    [/[a-z]/.test(name), "must contain at least one letter (a-z)"],
    [!name.includes("--"), "must not contain consecutive hyphens"],
    [!/^-|-$/.test(name), "must not begin or end with a hyphen"],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, message]) => message);
}

export function dns1035Label(name: string): readonly string[] {
  return check(name, labelMaxLength, label1035, {
    rule: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    examples: ["my-name", "abc-123"],
  });
}

export function wildcardSubdomain(name: string): readonly string[] {
  return check(name, subdomainMaxLength, `\\*\\.${subdomain1123}`, {
    rule: "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    examples: ["*.example.com"],
  });
}

/** Any name that can stand in a path: those of roles have colons. */
export function pathSegmentName(name: string): readonly string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"]
    .filter((mark) => name.includes(mark))
    .map((mark) => `may not contain '${mark}'`);
}

/** A label key, annotation key (in lower case) or finalizer: `name` or `prefix/name`. */
export function qualifiedName(key: string): readonly string[] {
  const parts = key.split("/");
  const examples = ["MyName", "my.name", "123-abc"];
  const [first = "", second] = parts;
  if (parts.length > 2) {
    const rule = explain({ rule: labelNameRule, examples }, labelName);
    return [
      `a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = second ?? first;
  const errors: string[] = [];
  if (second !== undefined) {
    const prefixErrors = first === "" ? ["must be non-empty"] : subdomainInBytes(first);
    errors.push(...prefixErrors.map((message) => `prefix part ${message}`));
  }
  const rule: Rule = { rule: labelNameRule, examples, unit: "bytes" };
  const nameErrors = [
    ...(name === "" ? ["must be non-empty"] : []),
    ...check(name, labelMaxLength, labelName, rule),
  ];
  return [...errors, ...nameErrors.map((message) => `name part ${message}`)];
}

export function labelValue(value: string): readonly string[] {
  return check(value, labelMaxLength, `(${labelName})?`, {
    rule: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    examples: ["MyValue", "my_value", "12345"],
    unit: "bytes",
  });
}

/** A key of a ConfigMap or Secret. */
export function configKey(key: string): readonly string[] {
  if (key === "." || key === "..") {
    return [`must not be '${key}'`];
  }
  return check(key, subdomainMaxLength, "[-._a-zA-Z0-9]+", {
    rule: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    examples: ["key.name", "KEY_NAME", "key-name"],
  });
}

/** A header of an HTTP request. */
export function httpHeaderName(name: string): readonly string[] {
  return check(name, Number.POSITIVE_INFINITY, "[-A-Za-z0-9]+", {
    rule: "a valid HTTP header must consist of alphanumeric characters or '-'",
    examples: ["X-Header-Name"],
  });
}

/** Any printable text but an equals sign. */
export function environmentName(name: string): readonly string[] {
  const isPrintable = /^[ -<>-~]+$/.test(name);
  return isPrintable
    ? []
    : [
        "a valid environment variable name must consist only of printable ASCII characters " +
          "other than '='",
      ];
}

/** A share in percent, where a number would do too. */
export function percentage(text: string): readonly string[] {
  return check(text, Number.POSITIVE_INFINITY, "[0-9]+%", {
    rule: "a valid percent string must be a numeric string followed by an ending '%'",
    examples: ["1%", "93%"],
  });
}

interface Rule {
  readonly rule: string;
  readonly examples: readonly string[];
  /** The unit of a length in the message; newer rules have bytes. */
  readonly unit?: "bytes";
}

/** Compiled once: names are checked with every write. */
const compiled = new Map<string, RegExp>();

function check(text: string, maxLength: number, pattern: string, rule: Rule): readonly string[] {
  const errors: string[] = [];
  if (text.length > maxLength) {
    errors.push(tooLong(maxLength, rule.unit));
  }
  let regexp = compiled.get(pattern);
  if (regexp === undefined) {
    regexp = new RegExp(`^${pattern}$`);
    compiled.set(pattern, regexp);
  }
  if (!regexp.test(text)) {
    errors.push(explain(rule, pattern));
  }
  return errors;
}

function tooLong(maxLength: number, unit: "bytes" | "characters" = "characters"): string {
  return `must be no more than ${maxLength} ${unit}`;
}

function explain({ rule, examples }: Rule, pattern: string): string {
  const used = `regex used for validation is '${pattern}'`;
  const forms = examples.map((example) => `'${example}'`).join(",  or ");
  return examples.length === 0 ? `${rule} (${used})` : `${rule} (e.g. ${forms}, ${used})`;
}
