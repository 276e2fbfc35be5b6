// The way down the syntax tree for those who treat all nodes alike: one level at a time, in the order
// of the source.
import type { Expression } from "./syntax.ts";

export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.node) {
    case "literal":
    case "name":
      return [];
    case "field":
      return [expression.of];
    case "call":
      return [...(expression.target === undefined ? [] : [expression.target]), ...expression.args];
    case "list":
      return expression.items.map((item) => item.value);
    case "map":
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case "bind":
      return [expression.value, expression.body];
    case "comprehension": {
      const { range, filter, body } = expression;
      return [range, ...(filter === undefined ? [] : [filter]), body];
    }
  }
}
