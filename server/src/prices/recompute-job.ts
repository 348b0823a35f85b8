import { Type } from "typebox";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import type { PriceWrites } from "./price.ts";

/** The part of the store that recomputes costs. */
export interface RecomputeStore {
  readonly write: { readonly prices: Pick<PriceWrites, "recompute"> };
}

/** Number of steps in the store that one step of the job performs. Each takes about 30 ms on the writer thread. */
const storeStepsPerJobStep = 4;
/** Maximum number of models that the result names. */
const namedModels = 5;

/**
 * Recomputes the costs of all stored model calls. The progress is stored with the prices, so that a change of prices
 * makes the job begin again, and a step that is performed twice does no harm.
 */
export const createRecomputeCosts = (store: RecomputeStore): AnyJobKind =>
  defineJobKind({
    name: "prices.recompute",
    parameters: Type.Object({}),
    prepare: async () => ({ title: "Recompute the costs of model calls" }),
    step: async ({ tenantId, signal }, cursor) => {
      const { prices } = store.write;
      let progress = await prices.recompute(tenantId, cursor === null ? "restart" : "continue");
      for (
        let step = 1;
        step < storeStepsPerJobStep && !progress.isDone && !signal.aborted;
        step += 1
      ) {
        progress = await prices.recompute(tenantId, "continue");
      }
      const { isDone, examined, changed, unreadable, position, last, unknownModels } = progress;
      return {
        done: examined,
        figures: {
          percent: isDone || last === 0 ? 100 : Math.floor((100 * position) / last),
          changed,
          ...(unreadable === 0 ? {} : { unreadable }),
        },
        ...(isDone
          ? { result: { summary: summarize({ examined, changed, unknownModels }) } }
          : { cursor: "begun" }),
      };
    },
  });

function summarize({
  examined,
  changed,
  unknownModels,
}: {
  readonly examined: number;
  readonly changed: number;
  readonly unknownModels: Readonly<Record<string, number>>;
}): string {
  const names = Object.entries(unknownModels)
    .toSorted(([, left], [, right]) => right - left)
    .map(([name]) => name);
  const more = names.length > namedModels ? ` and ${names.length - namedModels} more` : "";
  const unknown =
    names.length === 0
      ? ""
      : ` No price is known for ${names.slice(0, namedModels).join(", ")}${more}.`;
  return `${format(examined)} ${examined === 1 ? "model call" : "model calls"} examined, ${format(changed)} ${changed === 1 ? "cost" : "costs"} changed.${unknown}`;
}

const format = (count: number): string => count.toLocaleString("en");
