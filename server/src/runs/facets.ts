import { threadKeys } from "millrace/model";
import { mergePayloads } from "./merge-payloads.ts";

/**
 * Facets describe the name, type, tags and metadata of a run as short strings that an index can hold. The index has
 * one row for each facet, project and block of time, however many runs of the block have the facet, so it takes a
 * fraction of the space of an index with a row per run. Facets only narrow down a search: a filter still reads all
 * runs of the blocks that have the facet.
 */

/** Wildcard facet: a block of time that has it may contain runs with any facet. */
export const anyFacet = "*";

/** Microseconds of one block of time. */
export const blockMicros = 100_000;

/** Returns the number of the block of time in which a run began. */
export const toBlock = ({ startMicros }: { readonly startMicros: number }): number =>
  Math.floor(startMicros / blockMicros);

/** Maximum length of a name, type, tag, key or value that has a facet. */
const maxFacetChars = 200;

/** Maximum number of facets of a run's tags and metadata. If there are more, the run gets {@link anyFacet} instead. */
const maxFacets = 100;

/** Tags and metadata of more bytes than this are not parsed; the run gets {@link anyFacet}. */
const maxParsedBytes = 65_536;

const isShort = (text: string): boolean => text.length <= maxFacetChars;

/** Facet for a tag; `undefined` if the tag is too long. */
export const createTagFacet = (tag: string): string | undefined =>
  isShort(tag) ? `t${tag}` : undefined;

/** Facet for the presence of a metadata key. */
export const createKeyFacet = (key: string): string | undefined =>
  isShort(key) ? `k${key}` : undefined;

/** Facet for a metadata key whose value is this string, or a list that contains it. */
export const createPairFacet = (key: string, value: string): string | undefined =>
  isShort(key) && isShort(value) ? `p${key.length}:${key}=${value}` : undefined;

export const createNameFacet = (name: string): string | undefined =>
  isShort(name) ? `n${name}` : undefined;

export const createTypeFacet = (type: string): string | undefined =>
  isShort(type) ? `y${type}` : undefined;

/** Returns the facets of a run's name and type. Unlike tags and metadata, these two are stored in columns. */
export const createRowFacets = ({
  name,
  runType,
}: {
  readonly name: string;
  readonly runType: string;
}): readonly string[] =>
  [createNameFacet(name), createTypeFacet(runType)].filter((facet) => facet !== undefined);

/** Represents the JSON of an absent member. */
const emptyJson = Buffer.alloc(0);

/**
 * Caches the facets of the previous payload: consecutive runs of one program often have the same tags and metadata.
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
export function readPayloadFacets(members: ReadonlyMap<string, Buffer>): readonly string[] {
  const tags = members.get("tags") ?? emptyJson;
  const extra = members.get("extra") ?? emptyJson;
  if (tags.length + extra.length > maxParsedBytes) {
    return [anyFacet];
  }
  if (!tags.equals(lastPayload.tags) || !extra.equals(lastPayload.extra)) {
    const facets = createFacets(parseJson(tags), toObject(parseJson(extra)));
    // Copy the buffers: they are slices that would keep the whole request in memory.
    lastPayload = { tags: Buffer.from(tags), extra: Buffer.from(extra), facets };
  }
  return lastPayload.facets;
}

/** Lists the facets of a stored run. Each payload has added its facets, even if later payloads replaced its members. */
export const listRunFacets = (
  row: Parameters<typeof createRowFacets>[0],
  payloads: readonly Buffer[],
): ReadonlySet<string> =>
  new Set([
    ...createRowFacets(row),
    ...payloads.flatMap((payload) => readPayloadFacets(mergePayloads([payload]))),
  ]);

function createFacets(
  tags: unknown,
  { metadata }: Readonly<Record<string, unknown>>,
): readonly string[] {
  const facets = listTexts(tags).map(createTagFacet);
  for (const [key, value] of Object.entries(toObject(metadata))) {
    const texts = typeof value === "string" ? [value] : listTexts(value);
    facets.push(createKeyFacet(key), ...texts.map((text) => createPairFacet(key, text)));
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

/** Maximum nesting of the lists whose strings become facets. Filters do not search lists that are nested deeper. */
const maxNesting = 100;

/** Lists the strings of a list and of its nested lists. */
function listTexts(value: unknown, nesting = 1): string[] {
  return Array.isArray(value) && nesting <= maxNesting
    ? value.flatMap((item: unknown) =>
        typeof item === "string" ? [item] : listTexts(item, nesting + 1),
      )
    : [];
}

const threadPrefixes = threadKeys.map((key) => createPairFacet(key, "") ?? "");

/** Returns the ids of the threads that facets of runs contain. */
export const listThreadIds = (facets: Iterable<string>): readonly string[] =>
  [...facets].flatMap((facet) => {
    const prefix = threadPrefixes.find((start) => facet.startsWith(start));
    return prefix === undefined ? [] : [facet.slice(prefix.length)];
  });
