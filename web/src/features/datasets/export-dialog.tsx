import { Button, NativeSelect } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getBlob } from "../../api/http.ts";
import { saveFile } from "../../api/save-file.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Dataset } from "./dataset.ts";
import { createSplitsQuery } from "./queries.ts";

const formats = [
  { value: "jsonl", label: "JSONL: one example per line" },
  { value: "csv", label: "CSV: one column per field" },
  { value: "openai_ft", label: "OpenAI fine-tuning (JSONL of messages)" },
] as const;

type ExportFormat = (typeof formats)[number]["value"];

const toFormat = (text: string): ExportFormat =>
  formats.find(({ value }) => value === text)?.value ?? formats[0].value;

/** Downloads one version of a dataset, or one split of that version, as a file. */
export const ExportDialog = ({
  dataset,
  asOf,
  split: initialSplit = "",
  onClose,
}: {
  readonly dataset: Dataset;
  readonly asOf: string | undefined;
  readonly split: string | undefined;
  readonly onClose: () => void;
}) => {
  const [format, setFormat] = useState<ExportFormat>(formats[0].value);
  const [split, setSplit] = useState(initialSplit);
  const splits = useQuery(createSplitsQuery(dataset.id, asOf));
  const abortController = useRef<AbortController>(undefined);
  useEffect(() => () => abortController.current?.abort(), []);
  const download = useMutation({
    mutationFn: async () => {
      abortController.current = new AbortController();
      const parameters = new URLSearchParams({
        ...(asOf === undefined ? {} : { as_of: asOf }),
        ...(split === "" ? {} : { splits: split }),
      });
      const url = `${toEndpointPath(`/datasets/:id/${format}`, { id: dataset.id })}?${parameters.toString()}`;
      const extension = format === "csv" ? "csv" : "jsonl";
      saveFile(
        await getBlob(url, abortController.current.signal),
        `${toFileName(dataset.name)}.${extension}`,
      );
    },
    onSuccess: onClose,
  });
  return (
    <Dialog title="Export dataset" onClose={onClose}>
      <div className="form">
        <p>{asOf === undefined ? "Newest version" : `Version ${asOf}`}</p>
        <NativeSelect
          label="Format"
          data={[...formats]}
          value={format}
          onChange={({ currentTarget }) => setFormat(toFormat(currentTarget.value))}
        />
        <NativeSelect
          label="Split"
          data={[
            { value: "", label: "All splits" },
            ...(splits.data ?? []).map((name) => ({ value: name, label: toVisibleText(name) })),
          ]}
          value={split}
          onChange={({ currentTarget }) => setSplit(currentTarget.value)}
        />
        <FormError error={download.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={download.isPending} onClick={() => download.mutate()}>
            Download
          </Button>
        </div>
      </div>
    </Dialog>
  );
};

const toFileName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "dataset";
