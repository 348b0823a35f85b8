import { omitUndefined, toItems, toRecord, toSearchText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";

/** Search parameters in the URL of a new experiment. */
export interface LaunchSearch {
  /** The prompt that is selected initially: `repo`, `repo:commit` or `owner/repo:commit`. */
  readonly prompt?: string;
  /** The split and the version of the dataset that are selected initially. */
  readonly split?: string;
  readonly asOf?: string;
  /** The models that are selected initially. */
  readonly models?: readonly LaunchModel[];
}

/** A model, and the name of the endpoint to call it at. */
export interface LaunchModel {
  readonly endpoint: string;
  readonly model: string;
}

/** The maximum number of models in the URL. */
const maxModels = 10;

/** Reads the models of a URL. Leaves out those without a name. */
function parseModels(value: unknown): readonly LaunchModel[] | undefined {
  const models = toItems(value)
    .slice(0, maxModels)
    .flatMap((item) => {
      const { endpoint, model } = toRecord(item);
      const name = toSearchText(model);
      return name === undefined ? [] : [{ endpoint: toSearchText(endpoint) ?? "", model: name }];
    });
  return models.length === 0 ? undefined : models;
}

export const parseLaunchSearch = (search: JsonMembers): LaunchSearch =>
  omitUndefined({
    prompt: toSearchText(search["prompt"]),
    split: toSearchText(search["split"]),
    asOf: toSearchText(search["asOf"]),
    models: parseModels(search["models"]),
  });
