import { Textarea } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { listVariables } from "./playground-state.ts";
import type { PlaygroundState } from "./playground-state.ts";

/** The values of the variables in the messages. */
export const VariableFields = ({
  state,
  onChange,
}: {
  readonly state: PlaygroundState;
  readonly onChange: (changes: Partial<PlaygroundState>) => void;
}) => {
  const variables = listVariables(state);
  return variables.length === 0 ? null : (
    <section className="playground-section" aria-label="Variables">
      <h2>Variables</h2>
      {variables.map(({ name, isStructured, isMessageList }) => (
        <Textarea
          key={name}
          label={toVisibleText(name)}
          {...(isMessageList
            ? { description: 'A list of messages: [{"role": "user", "content": "…"}]' }
            : {})}
          {...(isStructured && !isMessageList ? { description: "JSON list or object" } : {})}
          {...((state.variables[name] ?? "") === "" && !isMessageList
            ? { placeholder: "Without a value, the variable is sent as written" }
            : {})}
          rows={2}
          value={state.variables[name] ?? ""}
          onChange={({ currentTarget: { value } }) =>
            onChange({ variables: { ...state.variables, [name]: value } })
          }
        />
      ))}
    </section>
  );
};
