// The rules for names, keys and label values. Each function returns what is wrong, in the words of
// Kubernetes, and an empty list when nothing is.

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

export function dnsSubdomain(name: string): readonly string[] {
  return check(name, subdomainMaxLength, subdomain1123, {
    rule: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    examples: ["example.com"],
  });
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
    const prefixErrors = first === "" ? ["must be non-empty"] : dnsSubdomain(first);
    errors.push(...prefixErrors.map((message) => `prefix part ${message}`));
  }
  const nameErrors =
    name === ""
      ? ["must be non-empty"]
      : check(name, labelMaxLength, labelName, { rule: labelNameRule, examples });
  return [...errors, ...nameErrors.map((message) => `name part ${message}`)];
}

export function labelValue(value: string): readonly string[] {
  return check(value, labelMaxLength, `(${labelName})?`, {
    rule: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    examples: ["MyValue", "my_value", "12345"],
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

interface Rule {
  readonly rule: string;
  readonly examples: readonly string[];
}

/** Compiled once: names are checked with every write. */
const compiled = new Map<string, RegExp>();

function check(text: string, maxLength: number, pattern: string, rule: Rule): readonly string[] {
  const errors: string[] = [];
  if (text.length > maxLength) {
    errors.push(`must be no more than ${maxLength} bytes`);
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

function explain({ rule, examples }: Rule, pattern: string): string {
  const forms = examples.map((example) => `'${example}'`).join(",  or ");
  return `${rule} (e.g. ${forms}, regex used for validation is '${pattern}')`;
}
