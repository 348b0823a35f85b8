// What an answer or an address holds, read member by member: nothing of it is known before.

export type Members = Readonly<Record<string, unknown>>;

/** The members of an object; none where it is no object. */
export const toRecord = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};

export const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

export const toNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/**
 * The items of a list that an answer is made of.
 *
 * @throws TypeError it is no list: not the server of this page said so.
 */
export function requireItems(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new TypeError(`the server's answer holds no list of ${what}`);
  }
  return value;
}

/** The items of a list; none where it is no list. */
export const toItems = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const toTexts = (value: unknown): readonly string[] =>
  toItems(value).filter((one) => typeof one === "string");

/** @throws TypeError the server's answer holds no such text. */
export function requireText(members: Members, name: string): string {
  const text = toText(members[name]);
  if (text === undefined) {
    throw new TypeError(`the server's answer holds no ${name}`);
  }
  return text;
}

/**
 * A text of an address. The router reads `?q=12` as a number and `?q=true` as a boolean: they were
 * meant as they stand. Empty is as good as absent.
 */
export function toSearchText(value: unknown): string | undefined {
  const text =
    typeof value === "number" || typeof value === "boolean" ? String(value) : toText(value);
  return text === "" ? undefined : text;
}

/** Whether a value of an address can be the id of something. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

/** The value where it is one of a few. */
export const oneOf = <Value extends string>(
  value: unknown,
  values: readonly Value[],
): Value | undefined => values.find((one) => one === value);

/** What is not `undefined`: under exact optional types an absent member is left out. */
export const omitUndefined = <Row extends object>(
  row: Row,
): { [Name in keyof Row]?: Exclude<Row[Name], undefined> } =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Row]?: Exclude<Row[Name], undefined>;
  };
