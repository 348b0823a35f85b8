import { toText } from "../model/json-values.ts";
import type { Item, Phase } from "../model/import-source.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { listDatasets } from "./dataset-phase.ts";

/**
 * Creates the phase that pins the baseline experiments of datasets. It follows the phase of the projects, because
 * experiments are projects.
 */
export const createBaselinePhase = (settings: ImportSettings): Phase => ({
  name: "baselines",
  listItems: async () => {
    const items: Item[] = [];
    for await (const { id, name, json } of listDatasets(settings)) {
      const baselineId = toText(json["baseline_experiment_id"]);
      if (baselineId !== undefined) {
        items.push({
          key: id,
          label: `baseline of the dataset ${JSON.stringify(name)}`,
          importPage: async () => {
            await settings.target.addBaseline({ id, name }, baselineId);
            return undefined;
          },
        });
      }
    }
    return items;
  },
});
