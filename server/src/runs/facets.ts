/**
 * Facets: name, type, tags and metadata of a run in words that an index can hold. A run's facets are noted with
 * its project and the block of time in which it began, once for all runs of the block: so an index over
 * them costs a fraction of one with a row per run. They only say where to look; a filter still reads the
 * runs that it is led to.
 */

/** Stands for every facet: runs of the block may have any. */
export const anyFacet = "*";

/** Microseconds that share a block. */
export const blockMicros = 100_000;

/** Longer texts have no facet. */
const textMax = 200;

/** Facets that one run may have; with more it has any. */
const facetsMax = 100;

/** JSON of so many bytes is not looked into; such a run has any facet. */
const bytesMax = 65_536;

const has = (text: string): boolean => text.length <= textMax;

/** `undefined` where the tag is too long to have one. */
export const tagFacet = (tag: string): string | undefined => (has(tag) ? `t${tag}` : undefined);

/** Of a member of the metadata that has this name. */
export const keyFacet = (key: string): string | undefined => (has(key) ? `k${key}` : undefined);

/** Of a member that is this text, or a list with this text in it. */
export const pairFacet = (key: string, value: string): string | undefined =>
  has(key) && has(value) ? `p${key.length}:${key}=${value}` : undefined;

/** Of a run of this name. */
export const nameFacet = (name: string): string | undefined => (has(name) ? `n${name}` : undefined);

/** Of a run of this type. */
export const typeFacet = (type: string): string | undefined => (has(type) ? `y${type}` : undefined);

/** The facets that a run has by its columns. */
export const facetsOfRow = ({
  name,
  runType,
}: {
  readonly name: string;
  readonly runType: string;
}): readonly string[] =>
  [nameFacet(name), typeFacet(runType)].filter((facet) => facet !== undefined);

/** For a member that is not there. */
const nothing = Buffer.alloc(0);

/** What the last payload had, and its facets: runs of one program often share both. */
let last: { readonly tags: Buffer; readonly extra: Buffer; readonly facets: readonly string[] } = {
  tags: nothing,
  extra: nothing,
  facets: [],
};

/** The facets that a received payload gives its run. The same list for the same payload in a row. */
export function facetsOf(members: ReadonlyMap<string, Buffer>): readonly string[] {
  return facetsOfJson(members.get("tags") ?? nothing, members.get("extra") ?? nothing);
}

/** The same of these two members; empty where they are not there. */
export function facetsOfJson(tags: Buffer, extra: Buffer): readonly string[] {
  if (tags.length + extra.length > bytesMax) {
    return [anyFacet];
  }
  if (!tags.equals(last.tags) || !extra.equals(last.extra)) {
    const facets = readFacets(parseJson(tags), toObject(parseJson(extra)));
    // Copies: the payload is a piece of a whole request.
    last = { tags: Buffer.from(tags), extra: Buffer.from(extra), facets };
  }
  return last.facets;
}

function readFacets(
  tags: unknown,
  { metadata }: Readonly<Record<string, unknown>>,
): readonly string[] {
  const facets = textsIn(tags).map(tagFacet);
  for (const [key, value] of Object.entries(toObject(metadata))) {
    const texts = typeof value === "string" ? [value] : textsIn(value);
    facets.push(keyFacet(key), ...texts.map((text) => pairFacet(key, text)));
  }
  const found = facets.filter((facet) => facet !== undefined);
  return found.length > facetsMax ? [anyFacet] : found;
}

/** It was checked to be JSON when it was received. */
const parseJson = (json: Buffer): unknown =>
  json.length === 0 ? undefined : (JSON.parse(json.toString("utf8")) as unknown);

const toObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

/** Lists within lists are looked into so far; filters look less far. */
const nestingMax = 100;

/** The texts of a list, and of lists in it. */
function textsIn(value: unknown, nesting = 1): string[] {
  return Array.isArray(value) && nesting <= nestingMax
    ? value.flatMap((item: unknown) =>
        typeof item === "string" ? [item] : textsIn(item, nesting + 1),
      )
    : [];
}
