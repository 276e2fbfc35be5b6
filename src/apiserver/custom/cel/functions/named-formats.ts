// Kubernetes' `format.…`: rules for names, whose `validate` says what is wrong with a text.
import {
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  labelValue,
  type NameRule,
  qualifiedName,
} from "../../../kinds/names.ts";
import { isOfFormat } from "../../formats.ts";
import { readSchema } from "../../json-schema.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import { ListValue, OpaqueValue, OptionalValue } from "../values.ts";

class NamedFormat extends OpaqueValue {
  readonly typeName = "kubernetes.NamedFormat";
  readonly name: string;
  readonly rule: NameRule;

  constructor(name: string, rule: NameRule) {
    super();
    this.name = name;
    this.rule = rule;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof NamedFormat && other.name === this.name;
  }
}

const rules: Readonly<Record<string, NameRule>> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label,
  qualifiedName,
  dns1123LabelPrefix: prefixOf(dnsLabel),
  dns1123SubdomainPrefix: prefixOf(dnsSubdomain),
  dns1035LabelPrefix: prefixOf(dns1035Label),
  labelValue,
  uri: openApi("uri", "invalid URI"),
  uuid: openApi("uuid", "does not match the UUID format"),
  byte: openApi("byte", "invalid base64"),
  date: openApi("date", "invalid date"),
  datetime: openApi("date-time", "invalid datetime"),
};

export const namedFormats: readonly Overload[] = [
  define("format.named(string) optional(kubernetes.NamedFormat)", (name: string) => {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    return new OptionalValue(rule && new NamedFormat(name, rule));
  }),
  ...Object.entries(rules).map(([name, rule]) =>
    define(`format.${name}() kubernetes.NamedFormat`, () => new NamedFormat(name, rule)),
  ),
  defineMethod(
    "validate(kubernetes.NamedFormat, string) optional(list(string))",
    (format: NamedFormat, text: string) => {
      const problems = format.rule(text);
      return new OptionalValue(problems.length === 0 ? undefined : new ListValue(problems));
    },
  ),
];

/** What a generated name begins with may end in a dash. */
function prefixOf(rule: NameRule): NameRule {
  return (text) => rule(text.endsWith("-") ? `${text.slice(0, -1)}a` : text);
}

function openApi(format: string, problem: string): NameRule {
  const schema = readSchema({ type: "string", format });
  return (text) => (isOfFormat(schema, text) ? [] : [problem]);
}
