import { Checkbox, NativeSelect } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { oneOf } from "../../api/parse.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { comparisonOrders, comparisonSubsets, toKeys } from "./compare-search.ts";
import type { CompareSearch } from "./compare-search.ts";
import { nameOf } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparisonPage } from "./comparison.ts";
import type { Experiment } from "./experiment.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/compare");

const orders = {
  regression: "Regressions first",
  improvement: "Improvements first",
  run: "As they were run",
} as const;
const subsets = {
  all: "All examples",
  regressions: "Only regressions",
  improvements: "Only improvements",
  errors: "Only errors",
} as const;

/** Which examples are shown, in which order, and by which score. */
export const CompareFilters = ({
  context,
  page,
  known,
}: {
  readonly context: ComparisonContext;
  readonly page: ComparisonPage;
  readonly known: readonly Experiment[];
}) => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (changes: CompareSearch): void =>
    void navigate({ search: (now) => ({ ...now, ...changes }), replace: true });
  const others = known.filter(({ id }) => !context.ids.includes(id));
  return (
    <search className="example-filters">
      <NativeSelect
        size="xs"
        aria-label="Baseline"
        value={context.baselineId}
        data={context.ids.map((id) => ({ value: id, label: `Baseline: ${nameOf(context, id)}` }))}
        onChange={({ currentTarget }) => set({ baseline: currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        aria-label="Score that decides"
        value={search.key ?? ""}
        data={[
          { value: "", label: "By all scores" },
          ...page.keys.map(({ key }) => ({ value: key, label: `By ${toVisibleText(key)}` })),
        ]}
        onChange={({ currentTarget: { value } }) =>
          void navigate({
            search: ({ key: _key, ...now }) => (value === "" ? now : { ...now, key: value }),
            replace: true,
          })
        }
      />
      <NativeSelect
        size="xs"
        aria-label="Order"
        value={search.order ?? "regression"}
        data={comparisonOrders.map((value) => ({ value, label: orders[value] }))}
        onChange={({ currentTarget }) =>
          set({ order: oneOf(currentTarget.value, comparisonOrders) ?? "regression" })
        }
      />
      <NativeSelect
        size="xs"
        aria-label="Which examples"
        value={search.only ?? "all"}
        data={comparisonSubsets.map((value) => ({ value, label: subsets[value] }))}
        onChange={({ currentTarget }) =>
          set({ only: oneOf(currentTarget.value, comparisonSubsets) ?? "all" })
        }
      />
      {others.length > 0 && search.comparative === undefined && (
        <NativeSelect
          size="xs"
          aria-label="Add an experiment"
          value=""
          data={[
            { value: "", label: "Add an experiment" },
            ...others.map(({ id, name }) => ({ value: id, label: toVisibleText(name) })),
          ]}
          onChange={({ currentTarget }) =>
            set({ experiments: [...context.ids, currentTarget.value].join(",") })
          }
        />
      )}
      {search.key !== undefined && (
        <Checkbox
          size="xs"
          label="Less is better"
          checked={context.lower.has(search.key)}
          onChange={() => set({ lower: toggle(search.lower, search.key ?? "") })}
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

function toggle(lower: string | undefined, key: string): string {
  const keys = toKeys(lower);
  return (keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key]).join(",");
}
