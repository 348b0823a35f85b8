import { Code } from "../../components/code/code.tsx";
import { RoleIcon } from "../../components/payload/role-icon.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { toManifestText } from "./manifest/manifest.ts";
import type { PromptContent, PromptPart } from "./manifest/manifest.ts";
import { ModelSection } from "./model-section.tsx";
import { findTemplateFault, toSegments } from "./manifest/template.ts";
import type { TemplateFormat } from "./manifest/template.ts";

/** The messages of a prompt as written, with highlighted variables. */
export const MessageList = ({ content }: { readonly content: PromptContent }) => (
  <section className="hub-messages" aria-label="Messages">
    {content.messages.map((message, index) => (
      // The index is a stable React key, because the messages of a commit never change.
      <article key={index} className="hub-message">
        <h2>
          <RoleIcon role={message.kind === "placeholder" ? "" : message.role} />
          {message.kind === "placeholder" ? "message list" : toVisibleText(message.role)}
        </h2>
        {message.kind === "placeholder" ? (
          <p>
            <mark>{`{${toVisibleText(message.variable)}}`}</mark>
            {message.isOptional && " (optional)"}
          </p>
        ) : (
          message.parts.map((part, partIndex) => (
            <MessagePart key={partIndex} part={part} format={content.format} />
          ))
        )}
      </article>
    ))}
    {content.schema !== undefined && (
      <article className="hub-message">
        <h2>Response schema</h2>
        <Code label="Schema" language="json" readOnly value={toManifestText(content.schema)} />
      </article>
    )}
    {content.model !== undefined && <ModelSection model={content.model} />}
  </section>
);

const MessagePart = ({
  part,
  format,
}: {
  readonly part: PromptPart;
  readonly format: TemplateFormat;
}) => {
  switch (part.kind) {
    case "other":
      return <pre>{toVisibleText(toManifestText(part.value))}</pre>;
    case "image":
    case "text":
      return (
        <>
          <p>
            {part.kind === "image" && "Image: "}
            {toSegments(part.text, format).map((segment, index) =>
              segment.kind === "text" ? (
                toVisibleText(segment.text)
              ) : (
                <mark key={index} data-kind={segment.kind}>
                  {toVisibleText(segment.source)}
                </mark>
              ),
            )}
          </p>
          <TemplateFault text={part.text} format={format} />
        </>
      );
  }
};

/** Shows why a template can't be filled in. */
const TemplateFault = ({
  text,
  format,
}: {
  readonly text: string;
  readonly format: TemplateFormat;
}) => {
  const fault = findTemplateFault(text, format);
  return fault === undefined ? null : <p className="bad">{toVisibleText(fault)}</p>;
};
