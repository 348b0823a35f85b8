import { Code } from "../../components/code/code.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { toManifestText } from "./manifest/manifest.ts";
import { readTool } from "./manifest/prompt-model.ts";
import type { ModelNumber, PromptModel } from "./manifest/prompt-model.ts";

const numberLabels: { readonly [Name in ModelNumber]: string } = {
  temperature: "Temperature",
  maxTokens: "Max tokens",
  topP: "Top P",
  seed: "Seed",
};

/** The model that was saved with a prompt, its settings and its tools. */
export const ModelSection = ({ model }: { readonly model: PromptModel }) => {
  const { className, name, numbers, stop, tools, others } = model;
  const rows = [
    ...(Object.keys(numberLabels) as ModelNumber[]).flatMap((setting) => {
      const value = numbers[setting];
      return value === undefined ? [] : [[numberLabels[setting], String(value)]];
    }),
    ...(stop.length === 0 ? [] : [["Stop sequences", stop.map(quote).join(", ")]]),
    ...Object.entries(others).map(([setting, value]) => [
      setting,
      typeof value === "string" ? value : toManifestText(value),
    ]),
  ];
  return (
    <>
      <article className="hub-message">
        <h2>Model</h2>
        <dl className="hub-model">
          <div>
            <dt>Model</dt>
            <dd>
              <bdi>{toVisibleText(name === "" ? "not named" : name)}</bdi>{" "}
              <span className="quiet">{toVisibleText(className)}</span>
            </dd>
          </div>
          {rows.map(([label = "", value = ""]) => (
            <div key={label}>
              <dt>{toVisibleText(label)}</dt>
              <dd>{toVisibleText(value)}</dd>
            </div>
          ))}
        </dl>
      </article>
      {tools.map((tool, index) => (
        <Tool key={index} tool={tool} />
      ))}
    </>
  );
};

const quote = (text: string): string => JSON.stringify(text);

const Tool = ({ tool }: { readonly tool: unknown }) => {
  const { name, description, parameters } = readTool(tool);
  const shownName = toVisibleText(name);
  return (
    <article className="hub-message">
      <h2>Tool {shownName}</h2>
      {description !== "" && <p>{toVisibleText(description)}</p>}
      <Code
        label={name === "" ? "Tool" : `Parameters of ${shownName}`}
        language="json"
        readOnly
        value={toManifestText(parameters ?? tool)}
        maxHeight={320}
      />
    </article>
  );
};
