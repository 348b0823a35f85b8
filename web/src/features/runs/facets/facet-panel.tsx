import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
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
  omitFacet,
  parseFacetCounts,
  toggleFacet,
} from "./facet.ts";
import type { Facet, FacetCounts } from "./facet.ts";
import "./facet-panel.css";

const refetchIntervalMs = 10_000;

const createFacetsQuery = (query: RunListQuery, listKey: string) =>
  queryOptions({
    queryKey: ["run-facets", query.projectId, listKey],
    queryFn: async ({ signal }) =>
      parseFacetCounts(
        await postJson(
          toEndpointPath("/ui/runs/facets"),
          { ...toSearchBody(query), facets: listChosenFacets(query.filter) },
          signal,
        ),
      ),
    refetchInterval: refetchIntervalMs,
    placeholderData: keepPreviousData,
  });

/**
 * Lists the facets with chosen values, each with the filter without its own conditions. The server counts the facet
 * with this filter, so that the panel also shows the values that are not chosen.
 */
const listChosenFacets = (filter: string) =>
  Object.keys(facetTitles)
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
  const { data, error, refetch } = useQuery(createFacetsQuery(query, listKey));
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
                values.length > 0 || findChosenValues(query.filter, name).length > 0,
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

const describeCountedRuns = ({ runs, countedToMs }: FacetCounts): string =>
  countedToMs === undefined
    ? `${runs.toLocaleString("en")} matching`
    : `The latest ${runs.toLocaleString("en")} matching, back to ${formatTime(countedToMs).slice(0, 16)}`;

const FacetSection = ({
  facet: { name, valueCount, values, countedToMs },
  filter,
  onFilter,
}: {
  readonly facet: Facet;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}) => {
  const [isOpen, setIsOpen] = useStoredFlag(`facet-${name}`, true);
  const chosenValues = findChosenValues(filter, name);
  const rareValues = chosenValues.filter((value) => values.every((other) => other.value !== value));
  const shownValues = [...values, ...rareValues.map((value) => ({ value, runs: undefined }))];
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
      {isOpen && countedToMs !== undefined && (
        <p className="facets-note">Back to {formatTime(countedToMs).slice(0, 16)}</p>
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
  const store = (flag: boolean): void => {
    localStorage.setItem(key, String(flag));
    setFlag(flag);
  };
  return [isSet, store];
}
