import { omitUndefined, toSearchText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";

/** Search parameters in the URL of a new experiment. */
export interface LaunchSearch {
  /** The prompt that is selected initially: `repo`, `repo:commit` or `owner/repo:commit`. */
  readonly prompt?: string;
  /** The split and the version of the dataset that are selected initially. */
  readonly split?: string;
  readonly asOf?: string;
}

export const parseLaunchSearch = (search: JsonMembers): LaunchSearch =>
  omitUndefined({
    prompt: toSearchText(search["prompt"]),
    split: toSearchText(search["split"]),
    asOf: toSearchText(search["asOf"]),
  });
