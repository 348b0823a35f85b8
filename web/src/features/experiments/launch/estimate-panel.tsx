import { Alert, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { formatDollars } from "../../../components/text/cost.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { sumCosts } from "./launch.ts";
import type { LaunchEstimate, TargetEstimate } from "./launch.ts";

/**
 * The estimated cost of the experiments, and a preview of each prompt with the variables of the first example filled
 * in.
 */
export const EstimatePanel = ({
  estimate,
  judgeCount,
}: {
  readonly estimate: LaunchEstimate;
  /** The number of LLM judges. The estimate includes their calls. */
  readonly judgeCount: number;
}) => {
  const [shownIndex, setShownIndex] = useState("0");
  const { targets, isMeasured } = estimate;
  const target = targets[Number(shownIndex)] ?? targets[0];
  const cost = sumCosts(targets);
  const unknownCost = targets
    .map(({ cost: targetCost }) => targetCost)
    .find((targetCost) => typeof targetCost === "string");
  const rows = targets.reduce((sum, { rows: targetRows }) => sum + targetRows, 0);
  return (
    <>
      <dl className="launch-cost" aria-label="Estimate">
        <div>
          <dt>Runs</dt>
          <dd>{rows.toLocaleString("en")}</dd>
        </div>
        <div>
          <dt>Input tokens</dt>
          <dd>{formatRange(sumTokens(targets, "inputTokens"))}</dd>
        </div>
        <div>
          <dt>Output tokens</dt>
          <dd>{formatRange(sumTokens(targets, "outputTokens"))}</dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>
            {cost === undefined
              ? "Unknown"
              : `${formatDollars(cost.low)} – ${formatDollars(cost.high)}`}
          </dd>
        </div>
      </dl>
      <p className="form-about">
        {isMeasured
          ? "Output tokens are estimated from earlier experiments on this dataset."
          : "No earlier experiment on this dataset recorded output tokens, so 50 to 1,000 per answer are assumed."}
        {judgeCount > 0 &&
          ` The estimate includes the ${judgeCount === 1 ? "LLM judge" : "LLM judges"}, with 30 to 300 output tokens per judgment.`}
        {unknownCost !== undefined && ` The cost is unknown: ${unknownCost}`}
      </p>
      {targets.length > 1 && (
        <NativeSelect
          label="Preview of"
          value={shownIndex}
          data={targets.map(({ name }, index) => ({
            value: String(index),
            label: toVisibleText(name),
          }))}
          onChange={({ currentTarget }) => setShownIndex(currentTarget.value)}
        />
      )}
      {target !== undefined && <PromptPreview estimate={target} />}
    </>
  );
};

const PromptPreview = ({ estimate }: { readonly estimate: TargetEstimate }) => (
  <section aria-label="First example" className="launch-preview">
    <h3>First example</h3>
    {estimate.error !== undefined && (
      <Alert color="red" title="The prompt can't be filled in">
        {toVisibleText(estimate.error)}
      </Alert>
    )}
    {estimate.error === undefined && estimate.failing > 0 && (
      <Alert color="orange">
        {estimate.failing} of the first {pluralize(estimate.sampled, "example")} do not have all
        variables of the prompt. Their rows will fail.
      </Alert>
    )}
    {estimate.messages.map(({ role, content, chars }, index) => (
      <div key={index} className="launch-message">
        <span className="launch-role">{role}</span>
        <pre>
          {toVisibleText(content)}
          {chars > content.length && ` … (${chars.toLocaleString("en")} characters)`}
        </pre>
      </div>
    ))}
    {estimate.sentParts.length > 0 && (
      <p className="quiet">
        Also sent, because they are saved with the prompt:{" "}
        {toVisibleText(estimate.sentParts.join(" · "))}
      </p>
    )}
  </section>
);

const sumTokens = (targets: readonly TargetEstimate[], name: "inputTokens" | "outputTokens") => ({
  low: targets.reduce((sum, target) => sum + target[name].low, 0),
  high: targets.reduce((sum, target) => sum + target[name].high, 0),
});

const formatRange = ({ low, high }: { readonly low: number; readonly high: number }): string =>
  `${low.toLocaleString("en")} – ${high.toLocaleString("en")}`;
