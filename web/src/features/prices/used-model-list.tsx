import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { FormSection } from "../../components/dialog/form.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { createCostFormat } from "../../components/text/cost.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import type { PriceSource, UsedModel, UsedModels } from "./price.ts";
import { usedModelsQuery } from "./queries.ts";

/** A table of the models of recent calls. Models without a price come first. */
export const UsedModelList = ({ onAdd }: { readonly onAdd: (model: string) => void }) => {
  const { data: used, error, refetch } = useQuery(usedModelsQuery);
  const formatCost = createCostFormat(used?.models.map(({ cost }) => cost) ?? []);
  return (
    <FormSection
      title="Models in use"
      description={used === undefined ? undefined : describeUsage(used)}
    >
      {used === undefined && error === null && <Loading resourceName="the models" />}
      {used === undefined && error !== null && (
        <Failure resourceName="the models" error={error} onRetry={refetch} />
      )}
      {used?.models.length === 0 && <p className="form-about">No model was called.</p>}
      {used !== undefined && used.models.length > 0 && (
        <ScrollX label="Models in use">
          <table className="projects stacked" aria-label="Models in use">
            <thead>
              <tr>
                <th scope="col">Model</th>
                <th scope="col">Price</th>
                <th scope="col" className="number">
                  Calls
                </th>
                <th scope="col" className="number">
                  Cost
                </th>
                <th scope="col">Last call</th>
                <th scope="col">
                  <span className="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {used.models.map((model, index) => (
                // The index is a stable React key, because the rows have no id and are replaced together.
                <ModelRow key={index} used={model} formatCost={formatCost} onAdd={onAdd} />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      {used !== undefined && used.otherCalls > 0 && (
        <p className="form-about">
          {used.otherCalls.toLocaleString("en")} calls of other models are not listed.
        </p>
      )}
    </FormSection>
  );
};

function describeUsage({ models, days, isComplete }: UsedModels): string {
  const hasSource = (name: PriceSource) => models.some(({ source }) => source === name);
  const periodText = isComplete
    ? `the last ${days} days`
    : `the last ${days} days (only the latest calls, because counting all calls takes too long)`;
  const completeText = hasSource("no_tokens")
    ? "All calls that report tokens have a price."
    : "All calls have a price.";
  const priceText = hasSource("none")
    ? "The cost of calls without a price is unknown. Add a price, then recompute the costs."
    : completeText;
  return `Model calls of ${periodText}. ${priceText}`;
}

const sourceLabels: { readonly [Source in PriceSource]: string } = {
  none: "No price",
  no_tokens: "No tokens reported",
  reported: "Cost reported by the runs",
  table: "Your price",
  library: "Public price",
};

const ModelRow = ({
  used: { source, model, provider, reason, calls, cost, latestMs },
  formatCost,
  onAdd,
}: {
  readonly used: UsedModel;
  readonly formatCost: (cost: number) => string;
  readonly onAdd: (model: string) => void;
}) => {
  const name = model === undefined ? "–" : toVisibleText(model);
  return (
    <tr>
      <td className="cell-project">
        <bdi>{name}</bdi>
      </td>
      <td data-title="Price">
        <span
          className={source === "none" ? "bad" : undefined}
          title={reason === undefined ? undefined : toVisibleText(reason)}
        >
          {source === "none" && model === undefined && reason !== undefined
            ? toVisibleText(reason)
            : sourceLabels[source]}
        </span>
        {provider !== undefined && <span className="absent"> · {toVisibleText(provider)}</span>}
      </td>
      <td className="number" data-title="Calls">
        {calls.toLocaleString("en")}
      </td>
      <td className="number" data-title="Cost">
        {source === "none" || source === "no_tokens" ? (
          <span className="absent">Unknown</span>
        ) : (
          formatCost(cost)
        )}
      </td>
      <td className="nowrap" data-title="Last call">
        {latestMs !== undefined && <Ago timeMs={latestMs} />}
      </td>
      <td className="number">
        {source === "none" && model !== undefined && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Add price for ${name}`}
            onClick={() => onAdd(model)}
          >
            Add price
          </Button>
        )}
      </td>
    </tr>
  );
};
