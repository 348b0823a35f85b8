import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { createDataset } from "../queries.ts";
import type { FileShape } from "./import-rows.ts";
import { importFile } from "./upload.ts";
import type { ImportState } from "./upload.ts";

/** The target dataset of an import, and how the file maps to examples. */
export interface ImportRequest {
  readonly shape: FileShape;
  readonly destination: { readonly id: string } | { readonly newName: string };
}

/**
 * The state of an import: `idle`, then `running`, then `done`, `failed` or `canceled`. Examples that were created
 * before a failure or a cancellation stay in the dataset.
 */
export type ImportStep =
  | { readonly kind: "idle" }
  | {
      readonly kind: "running" | "done" | "canceled";
      readonly datasetId: string;
      readonly state: ImportState;
    }
  | {
      readonly kind: "failed";
      readonly datasetId: string | undefined;
      readonly state: ImportState;
      readonly reason: string;
    };

const initialState: ImportState = {
  fractionRead: 0,
  createdCount: 0,
  rejectedCount: 0,
  firstRejectedRows: [],
};

/** Runs an import while the dialog is open. Unmounting the dialog cancels the import. */
export function useImport() {
  const [step, setStep] = useState<ImportStep>({ kind: "idle" });
  const abortController = useRef<AbortController>(undefined);
  const queryClient = useQueryClient();
  useEffect(() => () => abortController.current?.abort(), []);

  const start = async ({
    file,
    shape,
    destination,
  }: ImportRequest & { readonly file: File }): Promise<void> => {
    const controller = new AbortController();
    abortController.current = controller;
    let datasetId: string | undefined;
    let state = initialState;
    try {
      datasetId =
        "id" in destination
          ? destination.id
          : await createImportDataset(destination.newName, file.name);
      const targetId = datasetId;
      const onState = (newState: ImportState): void => {
        state = newState;
        setStep({ kind: "running", datasetId: targetId, state });
      };
      onState(initialState);
      const signal = controller.signal;
      state = await importFile({ file, shape, datasetId: targetId, signal, onState });
      setStep({ kind: "done", datasetId: targetId, state });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      setStep(
        controller.signal.aborted && datasetId !== undefined
          ? { kind: "canceled", datasetId, state }
          : { kind: "failed", datasetId, state, reason },
      );
    }
    await queryClient.invalidateQueries({ queryKey: ["datasets"] });
  };
  return { step, start, cancel: () => abortController.current?.abort() };
}

const createImportDataset = async (name: string, fileName: string): Promise<string> =>
  createDataset(
    {
      name,
      description: `Imported from ${fileName}`,
      metadata: undefined,
      inputsSchema: null,
      outputsSchema: null,
    },
    "kv",
  );
