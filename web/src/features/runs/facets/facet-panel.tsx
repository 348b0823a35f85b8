import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { postJson } from "../../../api/http.ts";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { toSearchBody } from "../queries.ts";
import type { RunListQuery } from "../queries.ts";
import {
  facetTitles,
  findChosenValues,
  listFacetNames,
  omitFacet,
  parseFacetCounts,
  toggleFacet,
} from "./facet.ts";
import type { Facet, FacetCounts } from "./facet.ts";
import "./facet-panel.css";

/**
 * The time limit of a count on the server, and the interval at which the panel requests the count again, in
 * milliseconds. If the short count does not reach all runs, the panel also requests the long one.
 */
const shortCount = { timeLimitMs: 200, refetchIntervalMs: 10_000 };
const longCount = { timeLimitMs: 2_000, refetchIntervalMs: 30_000 };

const createFacetsQuery = (
  query: RunListQuery,
  listKey: string,
  { timeLimitMs, refetchIntervalMs }: typeof shortCount,
) =>
  queryOptions({
    queryKey: ["run-facets", query.projectId, listKey, timeLimitMs],
    queryFn: async ({ signal }) =>
      parseFacetCounts(
        await postJson(
          toEndpointPath("/ui/runs/facets"),
          {
            ...toSearchBody(query),
            facets: listChosenFacets(query),
            time_limit_ms: timeLimitMs,
          },
          signal,
        ),
      ),
    refetchInterval: refetchIntervalMs,
  });

/**
 * Lists the facets with chosen values. For each of them, `filter` lacks the conditions on the facet itself. The server
 * counts the facet with this filter, so that the panel also shows the values that are not chosen.
 */
const listChosenFacets = ({ filter, isRoot }: RunListQuery) =>
  listFacetNames(isRoot)
    .filter((name) => findChosenValues(filter, name).length > 0)
    .map((name) => ({ name, filter: omitFacet(filter, name) }));

/**
 * Shows the values of each facet with the number of matching runs that have the value. A click on a value selects it,
 * and a second click deselects it. If several values of a facet are selected, runs with any of these values match.
 */
export const FacetPanel = ({
  query,
  listKey,
  onFilter,
}: {
  readonly query: RunListQuery;
  /** A key that is different for each filter and each time range. */
  readonly listKey: string;
  readonly onFilter: (filter: string) => void;
}) => {
  const short = useQuery({
    ...createFacetsQuery(query, listKey, shortCount),
    placeholderData: keepPreviousData,
  });
  const isLongNeeded = !short.isPlaceholderData && short.data?.isPartial === true;
  const long = useQuery({
    ...createFacetsQuery(query, listKey, longCount),
    enabled: isLongNeeded,
  });
  const data = isLongNeeded ? (long.data ?? short.data) : short.data;
  const { error, refetch } = short;
  const facetNames = listFacetNames(query.isRoot);
  return (
    <aside className="facets" aria-label="Facets">
      {data === undefined && error === null && <Loading resourceName="the facets" />}
      {data === undefined && error !== null && (
        <Failure resourceName="the facets" error={error} onRetry={refetch} />
      )}
      {data !== undefined && (
        <>
          <p className="facets-note">{describeCountedRuns(data)}</p>
          {data.facets
            .filter(
              ({ name, values }) =>
                facetNames.includes(name) &&
                (values.length > 0 || findChosenValues(query.filter, name).length > 0),
            )
            .map((facet) => (
              <FacetSection
                key={facet.name}
                facet={facet}
                filter={query.filter}
                onFilter={onFilter}
              />
            ))}
        </>
      )}
    </aside>
  );
};

const describeCountedRuns = ({ runs, countedFromMs }: FacetCounts): string =>
  countedFromMs === undefined
    ? `${runs.toLocaleString("en")} matching`
    : `The latest ${runs.toLocaleString("en")} matching, back to ${formatTime(countedFromMs).slice(0, 16)}`;

const FacetSection = ({
  facet: { name, valueCount, values, countedFromMs },
  filter,
  onFilter,
}: {
  readonly facet: Facet;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}) => {
  const [isOpen, setIsOpen] = useStoredFlag(`facet-${name}`, true);
  const chosenValues = findChosenValues(filter, name);
  const uncountedValues = chosenValues.filter((value) =>
    values.every((other) => other.value !== value),
  );
  const shownValues = [...values, ...uncountedValues.map((value) => ({ value, runs: undefined }))];
  return (
    <section className="facet">
      <h2>
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {facetTitles[name] ?? name}
        </button>
      </h2>
      {isOpen && (
        <ul>
          {shownValues.map(({ value, runs }) => (
            <li key={value}>
              <button
                type="button"
                aria-pressed={chosenValues.includes(value)}
                title={toVisibleText(value)}
                onClick={() => onFilter(toggleFacet(filter, name, value))}
              >
                <bdi>{toVisibleText(value)}</bdi>
                <span>{runs?.toLocaleString("en")}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {isOpen && valueCount > values.length && (
        <p className="facets-note">
          {(valueCount - values.length).toLocaleString("en")} more values
        </p>
      )}
      {isOpen && countedFromMs !== undefined && (
        <p className="facets-note">Back to {formatTime(countedFromMs).slice(0, 16)}</p>
      )}
    </section>
  );
};

/** A setting that is on or off. The browser stores it. */
export function useStoredFlag(
  name: string,
  fallback: boolean,
): readonly [boolean, (flag: boolean) => void] {
  const key = `millrace-${name}`;
  const [isSet, setFlag] = useState(() => {
    const storedText = localStorage.getItem(key);
    return storedText === null ? fallback : storedText === "true";
  });
  const store = useCallback(
    (flag: boolean): void => {
      localStorage.setItem(key, String(flag));
      setFlag(flag);
    },
    [key],
  );
  return [isSet, store];
}
