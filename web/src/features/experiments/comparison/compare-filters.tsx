import { Checkbox, NativeSelect } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { parseChoice } from "../../../api/parse.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { comparisonOrders, comparisonSubsets, parseKeys } from "./compare-search.ts";
import type { CompareSearch } from "./compare-search.ts";
import { getExperimentName } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparisonPage } from "./comparison.ts";
import type { ExperimentName } from "../queries.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/compare");

const orderLabels = {
  regression: "Regressions first",
  improvement: "Improvements first",
  run: "Run order",
} as const;
const subsetLabels = {
  all: "All examples",
  regressions: "Only regressions",
  improvements: "Only improvements",
  errors: "Only errors",
} as const;

/** The settings of a comparison: the baseline, the score to compare, and the order and the subset of the examples. */
export const CompareFilters = ({
  context,
  page,
  experiments,
}: {
  readonly context: ComparisonContext;
  readonly page: ComparisonPage;
  /** The experiments that can be added to the comparison. */
  readonly experiments: readonly ExperimentName[];
}) => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const changeSearch = (changes: CompareSearch): void =>
    void navigate({ search: (current) => ({ ...current, ...changes }), replace: true });
  const otherExperiments = experiments.filter(({ id }) => !context.experimentIds.includes(id));
  return (
    <search className="example-filters">
      <NativeSelect
        size="xs"
        aria-label="Baseline"
        value={context.baselineId}
        data={context.experimentIds.map((id) => ({
          value: id,
          label: `Baseline: ${getExperimentName(context, id)}`,
        }))}
        onChange={({ currentTarget }) => changeSearch({ baseline: currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        aria-label="Score to compare"
        value={search.key ?? ""}
        data={[
          { value: "", label: "By all scores" },
          ...page.keys.map(({ key }) => ({ value: key, label: `By ${toVisibleText(key)}` })),
        ]}
        onChange={({ currentTarget: { value } }) =>
          void navigate({
            search: ({ key: _key, ...others }) =>
              value === "" ? others : { ...others, key: value },
            replace: true,
          })
        }
      />
      <NativeSelect
        size="xs"
        aria-label="Sort order"
        value={search.order ?? "regression"}
        data={comparisonOrders.map((value) => ({ value, label: orderLabels[value] }))}
        onChange={({ currentTarget }) =>
          changeSearch({
            order: parseChoice(currentTarget.value, comparisonOrders) ?? "regression",
          })
        }
      />
      <NativeSelect
        size="xs"
        aria-label="Filter examples"
        value={search.only ?? "all"}
        data={comparisonSubsets.map((value) => ({ value, label: subsetLabels[value] }))}
        onChange={({ currentTarget }) =>
          changeSearch({ only: parseChoice(currentTarget.value, comparisonSubsets) ?? "all" })
        }
      />
      {otherExperiments.length > 0 && search.comparative === undefined && (
        <NativeSelect
          size="xs"
          aria-label="Add experiment"
          value=""
          data={[
            { value: "", label: "Add experiment" },
            ...otherExperiments.map(({ id, name }) => ({ value: id, label: toVisibleText(name) })),
          ]}
          onChange={({ currentTarget }) =>
            changeSearch({ experiments: [...context.experimentIds, currentTarget.value].join(",") })
          }
        />
      )}
      {search.key !== undefined && (
        <Checkbox
          size="xs"
          label="Lower is better"
          checked={context.lowerIsBetterKeys.has(search.key)}
          onChange={() => changeSearch({ lower: toggleKey(search.lower, search.key ?? "") })}
        />
      )}
      <output className="quiet">
        {page.matching === page.total
          ? pluralize(page.total, "example")
          : `${page.matching.toLocaleString("en")} of ${pluralize(page.total, "example")}`}
      </output>
    </search>
  );
};

function toggleKey(lower: string | undefined, key: string): string {
  const keys = parseKeys(lower);
  return (keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key]).join(",");
}
