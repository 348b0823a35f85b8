import { useMemo, useState } from "react";
import { TextDiff } from "../../components/code/text-diff.tsx";
import { listVariables, toDiffText, toManifestText, toPromptContent } from "./manifest/manifest.ts";
import type { PromptContent, PromptVariable } from "./manifest/manifest.ts";
import { fillPrompt } from "./manifest/prompt-render.ts";
import type { EnteredValues } from "./manifest/prompt-render.ts";
import { VariableFields } from "./variable-fields.tsx";

/**
 * The differences between two manifests. Compares their templates or, when the user has entered values of the
 * variables, the messages that a model would receive.
 */
export const ManifestDiff = ({
  label,
  before,
  after,
}: {
  readonly label: string;
  /** `undefined` if `after` is the first manifest. */
  readonly before: unknown;
  readonly after: unknown;
}) => {
  const [enteredValues, setEnteredValues] = useState<EnteredValues>({});
  const contents = useMemo(
    () => [before, after].map((manifest) => toPromptContent(manifest)),
    [before, after],
  );
  const variables = useMemo(() => listAllVariables(contents), [contents]);
  const isFilled = variables.some(({ name }) => (enteredValues[name] ?? "") !== "");
  // The readable text does not show some differences, such as the class of a node. Compare the JSON if the readable
  // texts are the same.
  const isOnlyInJson = useMemo(
    () =>
      before !== undefined &&
      toDiffText(before) === toDiffText(after) &&
      toManifestText(before) !== toManifestText(after),
    [before, after],
  );
  const [beforeText = "", afterText = ""] = useMemo(
    () =>
      [before, after].map((manifest, index) => {
        const content = contents[index];
        if (manifest === undefined) {
          return "";
        }
        if (isFilled && content !== undefined) {
          return toFilledText(content, enteredValues);
        }
        return isOnlyInJson ? toManifestText(manifest) : toDiffText(manifest);
      }),
    [before, after, contents, isFilled, isOnlyInJson, enteredValues],
  );
  return (
    <>
      <TextDiff
        label={isFilled ? `${label}, with values` : label}
        before={beforeText}
        after={afterText}
      />
      {variables.length > 0 && (
        <details className="hub-diff-values">
          <summary>Fill in variables to compare</summary>
          <VariableFields
            variables={variables}
            enteredValues={enteredValues}
            onValues={setEnteredValues}
          />
        </details>
      )}
    </>
  );
};

/**
 * Returns the variables of several prompts, each once. Variables of Jinja2 templates are left out, because these
 * templates can't be filled in.
 */
function listAllVariables(
  contents: readonly (PromptContent | undefined)[],
): readonly PromptVariable[] {
  const variables = contents
    .filter((content) => content !== undefined)
    .filter(({ format }) => format !== "jinja2")
    .flatMap(listVariables);
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()];
}

const toFilledText = (content: PromptContent, values: EnteredValues): string =>
  `${fillPrompt(content, listVariables(content), values)
    .map(({ role, text }) => `— ${role}\n${text}`)
    .join("\n\n")}\n`;
