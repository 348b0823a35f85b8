import { useMemo, useState } from "react";
import { RoleIcon } from "../../components/payload/role-icon.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { PromptContent, PromptVariable } from "./manifest/manifest.ts";
import { fillPrompt } from "./manifest/prompt-render.ts";
import type { EnteredValues } from "./manifest/prompt-render.ts";
import { VariableFields } from "./variable-fields.tsx";

/** Fields for the variables of a prompt, and a preview of the messages with the entered values. No model is called. */
export const VariablesPreview = ({
  content,
  variables,
}: {
  readonly content: PromptContent;
  readonly variables: readonly PromptVariable[];
}) => {
  const [enteredValues, setEnteredValues] = useState<EnteredValues>({});
  const filledMessages = useMemo(
    () => fillPrompt(content, variables, enteredValues),
    [content, variables, enteredValues],
  );
  if (content.format === "jinja2") {
    return (
      <section className="hub-try" aria-label="Variables">
        <h2>Variables</h2>
        <p className="note">
          {variables.length > 0 &&
            `${variables.map(({ name }) => toVisibleText(name)).join(", ")}. `}
          Jinja2 templates have no preview.
        </p>
      </section>
    );
  }
  return (
    <section className="hub-try" aria-label="Variables and preview">
      <h2>Variables</h2>
      {variables.length === 0 && <p className="note">This prompt has no variables.</p>}
      <VariableFields
        variables={variables}
        enteredValues={enteredValues}
        onValues={setEnteredValues}
      />
      {variables.length > 0 && (
        <>
          <h2>Preview</h2>
          <div className="hub-filled">
            {filledMessages.map(({ role, text }, index) => (
              <article key={index} className="hub-message">
                <h3>
                  <RoleIcon role={role} />
                  {toVisibleText(role)}
                </h3>
                <p>{toVisibleText(text)}</p>
              </article>
            ))}
          </div>
        </>
      )}
    </section>
  );
};
