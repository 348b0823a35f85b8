/** Newer than the types: `JSON.rawJSON`, and what a number looked like in the text. */
interface ExactJson {
  readonly rawJSON?: (text: string) => unknown;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ) => unknown;
}

const exact = JSON as unknown as ExactJson;

/**
 * A JSON text as a value that `JSON.stringify` writes back with every number as it stood: an id of 20
 * digits, 1.0 and 1e400 too. A browser that knows no raw numbers reads them as numbers.
 *
 * @throws SyntaxError it is not JSON.
 */
export const parseExact = (text: string): unknown =>
  exact.parse(text, (_key, value, context) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source
      ? (exact.rawJSON?.(source) ?? value)
      : value;
  });
