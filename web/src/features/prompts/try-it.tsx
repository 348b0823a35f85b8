import { Textarea } from "@mantine/core";
import { useMemo, useState } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { PromptContent, PromptVariable } from "./manifest.ts";
import { fillPrompt } from "./prompt-render.ts";
import type { TypedValues } from "./prompt-render.ts";

/** The variables of a prompt, and its text with values for them. Nothing is sent anywhere. */
export const TryIt = ({
  content,
  variables,
}: {
  readonly content: PromptContent;
  readonly variables: readonly PromptVariable[];
}) => {
  const [typed, setTyped] = useState<TypedValues>({});
  const filled = useMemo(() => fillPrompt(content, variables, typed), [content, variables, typed]);
  if (content.format === "jinja2") {
    return (
      <section className="hub-try" aria-label="Variables">
        <h2>Variables</h2>
        <p className="note">
          {variables.map(({ name }) => toVisibleText(name)).join(", ")}. Jinja2 templates are shown,
          not filled.
        </p>
      </section>
    );
  }
  return (
    <section className="hub-try" aria-label="Try it">
      <h2>Variables</h2>
      {variables.length === 0 && <p className="note">This prompt asks for none.</p>}
      {variables.map(({ name, isStructured, isMessages }) => (
        <Textarea
          key={name}
          label={toVisibleText(name)}
          {...(isMessages
            ? { description: 'A list of messages: [{"role": "human", "content": "…"}]' }
            : {})}
          {...(isStructured && !isMessages ? { description: "JSON: a list or an object" } : {})}
          rows={2}
          value={typed[name] ?? ""}
          onChange={({ currentTarget: { value } }) => setTyped({ ...typed, [name]: value })}
        />
      ))}
      {variables.length > 0 && (
        <>
          <h2>Filled in</h2>
          <div className="hub-filled">
            {filled.map(({ role, text }, index) => (
              <article key={index} className="hub-message">
                <h3>{toVisibleText(role)}</h3>
                <p>{toVisibleText(text)}</p>
              </article>
            ))}
          </div>
        </>
      )}
    </section>
  );
};
