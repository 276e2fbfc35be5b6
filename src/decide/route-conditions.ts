// The conditions of a rule on a request, besides host and path. All of it is data: checked when it is made from
// an object, pushed beside the rule, and read by the proxy's Lua (proxy/lua/lockstep/conditions.lua).

export interface RouteConditions {
  /** The request came in by one of these; any when absent. */
  readonly ports?: readonly number[];
  /** The address of the proxy that it came to is one of these; any when absent. */
  readonly addresses?: readonly string[];
  /**
   * No condition: the rule stands for a listener that has the name of the host, at these ports and
   * addresses. A connection that was opened for one listener is not used for another.
   */
  readonly isListener?: true;
  readonly method?: string;
  /** Of the path, which has exactly two elements, `1` and `2`. */
  readonly elements?: readonly FieldCondition[];
  /** All of them. */
  readonly headers?: readonly FieldCondition[];
  readonly query?: readonly FieldCondition[];
}

/** Of a header, a parameter of the query or an element of the path: its value, or an expression that matches it. */
export interface FieldCondition {
  readonly name: string;
  readonly value?: string;
  readonly pattern?: string;
}

/**
 * For the first element of the path, a value goes before an expression, and the longer text before the
 * shorter; then the same for the second; then a method before headers, and more of them before fewer; then
 * parameters of the query.
 */
export function compareConditions(a: RouteConditions = {}, b: RouteConditions = {}): number {
  return (
    compareElements(a.elements, b.elements, "1") ||
    compareElements(a.elements, b.elements, "2") ||
    countOf(b.method) - countOf(a.method) ||
    (b.headers?.length ?? 0) - (a.headers?.length ?? 0) ||
    (b.query?.length ?? 0) - (a.query?.length ?? 0)
  );
}

function countOf(value: string | undefined): number {
  return value === undefined ? 0 : 1;
}

function compareElements(
  a: readonly FieldCondition[] = [],
  b: readonly FieldCondition[] = [],
  wanted: string,
): number {
  const one = a.find(({ name }) => name === wanted);
  const other = b.find(({ name }) => name === wanted);
  return (
    lengthOf(other?.value) - lengthOf(one?.value) ||
    lengthOf(other?.pattern) - lengthOf(one?.pattern)
  );
}

function lengthOf(text = ""): number {
  return text.length;
}
