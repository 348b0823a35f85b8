/**
 * Facets describe the name, type, tags and metadata of a run as short strings that an index can hold. The index has
 * one row for each facet, project and block of time, however many runs of the block have the facet, so it costs a
 * fraction of an index with a row per run. Facets only narrow a search down: a filter still reads the runs of the
 * blocks that they lead to.
 */

/** Wildcard facet: the runs of a block that has it may have any facet. */
export const anyFacet = "*";

/** Microseconds of one block of time. */
export const blockMicros = 100_000;

/** Maximum length of a name, type, tag, key or value that has a facet. */
const maxFacetChars = 200;

/** A run with more facets gets {@link anyFacet} instead. */
const maxFacets = 100;

/** Tags and metadata of more bytes than this are not parsed; the run gets {@link anyFacet}. */
const maxParsedBytes = 65_536;

const isShort = (text: string): boolean => text.length <= maxFacetChars;

/** Facet for a tag; `undefined` if the tag is too long. */
export const tagFacet = (tag: string): string | undefined => (isShort(tag) ? `t${tag}` : undefined);

/** Facet for the presence of a metadata key. */
export const keyFacet = (key: string): string | undefined => (isShort(key) ? `k${key}` : undefined);

/** Facet for a metadata key whose value is this string, or a list that contains it. */
export const pairFacet = (key: string, value: string): string | undefined =>
  isShort(key) && isShort(value) ? `p${key.length}:${key}=${value}` : undefined;

/** Facet for the name of a run. */
export const nameFacet = (name: string): string | undefined =>
  isShort(name) ? `n${name}` : undefined;

/** Facet for the type of a run. */
export const typeFacet = (type: string): string | undefined =>
  isShort(type) ? `y${type}` : undefined;

/** Returns the facets that come from a run's columns. */
export const facetsOfRow = ({
  name,
  runType,
}: {
  readonly name: string;
  readonly runType: string;
}): readonly string[] =>
  [nameFacet(name), typeFacet(runType)].filter((facet) => facet !== undefined);

/** Represents a member that is absent. */
const emptyJson = Buffer.alloc(0);

/**
 * Cache of the previous payload's facets: consecutive runs of one program often have the same tags and metadata.
 */
let lastPayload: {
  readonly tags: Buffer;
  readonly extra: Buffer;
  readonly facets: readonly string[];
} = {
  tags: emptyJson,
  extra: emptyJson,
  facets: [],
};

/**
 * Returns the facets of a received payload. Consecutive payloads with the same tags and metadata get the same array
 * instance.
 */
export function facetsOf(members: ReadonlyMap<string, Buffer>): readonly string[] {
  const tags = members.get("tags") ?? emptyJson;
  const extra = members.get("extra") ?? emptyJson;
  if (tags.length + extra.length > maxParsedBytes) {
    return [anyFacet];
  }
  if (!tags.equals(lastPayload.tags) || !extra.equals(lastPayload.extra)) {
    const facets = readFacets(parseJson(tags), toObject(parseJson(extra)));
    // Store copies: the buffers are slices that would keep the memory of the whole request.
    lastPayload = { tags: Buffer.from(tags), extra: Buffer.from(extra), facets };
  }
  return lastPayload.facets;
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
  const definedFacets = facets.filter((facet) => facet !== undefined);
  return definedFacets.length > maxFacets ? [anyFacet] : definedFacets;
}

/** Does not catch errors: the JSON was validated when it was received. */
const parseJson = (json: Buffer): unknown =>
  json.length === 0 ? undefined : (JSON.parse(json.toString("utf8")) as unknown);

const toObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

/** Lists are read down to this nesting, which is deeper than filters descend. */
const nestingMax = 100;

/** Collects the strings of a list and of its nested lists. */
function textsIn(value: unknown, nesting = 1): string[] {
  return Array.isArray(value) && nesting <= nestingMax
    ? value.flatMap((item: unknown) =>
        typeof item === "string" ? [item] : textsIn(item, nesting + 1),
      )
    : [];
}
