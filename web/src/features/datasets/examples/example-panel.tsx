import { ActionIcon, Button } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { ActionMenu } from "../../../components/page/action-menu.tsx";
import { usePersonName } from "../../../components/text/person-name.ts";
import { loadChunk } from "../../../components/page/load-chunk.ts";
import { useEscape } from "../../../components/keyboard/escape.ts";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { formatJson } from "../../../components/text/json-text.ts";
import { createCommentsQuery } from "../../comments/queries.ts";
import { DeleteExamples } from "./delete-examples.tsx";
import { ExampleEditor } from "./example-editor.tsx";
import { ExampleView } from "./example-view.tsx";
import type { Example } from "./example.ts";
import { createExampleQuery, updateExample } from "./queries.ts";

const Comments = lazy(async () =>
  loadChunk(async () => ({ default: (await import("../../comments/comments.tsx")).Comments })),
);

/**
 * Shows one example in a panel next to the list. The example can be edited and deleted only in the newest version of
 * the dataset.
 */
export const ExamplePanel = ({
  datasetId,
  exampleId,
  asOf,
  tenantId,
  onClose,
}: {
  readonly datasetId: string;
  readonly exampleId: string;
  readonly asOf: string | undefined;
  readonly tenantId: string;
  readonly onClose: () => void;
}) => {
  const {
    data: example,
    error,
    refetch,
  } = useQuery(createExampleQuery(datasetId, exampleId, asOf));
  const queryClient = useQueryClient();
  const [mode, setMode] = useState<"read" | "edit" | "delete">("read");
  const showExample = (): void => setMode("read");
  useEscape(mode === "read" ? onClose : showExample);
  return (
    <aside className="panel example-panel" aria-label="Example">
      <div className="example-panel-head">
        <h1>Example</h1>
        {example !== undefined && asOf === undefined && mode !== "edit" && (
          <span className="tools">
            <Button size="compact-xs" variant="default" onClick={() => setMode("edit")}>
              Edit
            </Button>
            <ActionMenu
              label="Example actions"
              actions={[{ label: "Delete", onClick: () => setMode("delete"), isDestructive: true }]}
            />
          </span>
        )}
        <ActionIcon variant="subtle" color="gray" aria-label="Close example" onClick={onClose}>
          ✕
        </ActionIcon>
      </div>
      {example === undefined && error === null && <Loading resourceName="the example" />}
      {example === undefined && error !== null && (
        <Failure resourceName="the example" error={error} onRetry={refetch} isSingleResource />
      )}
      {example !== undefined && mode !== "edit" && (
        <>
          <ExampleView example={example} tenantId={tenantId} />
          <ExampleComments key={exampleId} exampleId={exampleId} />
        </>
      )}
      {example !== undefined && mode === "edit" && (
        <ExampleEditor
          datasetId={datasetId}
          texts={toEditorTexts(example)}
          action="Save"
          onCancel={showExample}
          onSave={async (change) => {
            await updateExample(exampleId, change);
            await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId] });
            showExample();
          }}
        />
      )}
      {mode === "delete" && (
        <DeleteExamples
          ids={[exampleId]}
          datasetId={datasetId}
          onClose={showExample}
          onDeleted={onClose}
        />
      )}
    </aside>
  );
};

/** The comments on an example, which are shown below the example. */
const ExampleComments = ({ exampleId }: { readonly exampleId: string }) => {
  const target = { kind: "example", id: exampleId } as const;
  const [name] = usePersonName();
  const { data } = useInfiniteQuery(createCommentsQuery(target, name));
  const total = data?.pages[0]?.total ?? 0;
  return (
    <section className="example-part">
      <h2>Comments{total > 0 && <small className="quiet"> {total.toLocaleString("en")}</small>}</h2>
      <Suspense fallback={<Loading resourceName="comments" />}>
        <Comments target={target} />
      </Suspense>
    </section>
  );
};

const toEditorTexts = ({ inputs, outputs, metadata, splits }: Example) => ({
  inputs: formatJson(inputs),
  outputs: outputs === undefined ? "" : formatJson(outputs),
  metadata: Object.keys(metadata).length === 0 ? "" : formatJson(metadata),
  splits,
});
