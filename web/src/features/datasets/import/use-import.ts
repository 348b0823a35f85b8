import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { createDataset } from "../queries.ts";
import type { FileShape } from "./import-rows.ts";
import { importFile } from "./upload.ts";
import type { ImportState } from "./upload.ts";

/** Where a file goes, and how. */
export interface ImportPlanned {
  readonly shape: FileShape;
  readonly into: { readonly id: string } | { readonly newName: string };
}

/** `idle` → `running` → `done` or `failed`; a cancel ends a run as `cancelled`, what was sent stays. */
export type ImportStep =
  | { readonly kind: "idle" }
  | {
      readonly kind: "running" | "done" | "cancelled";
      readonly datasetId: string;
      readonly state: ImportState;
    }
  | {
      readonly kind: "failed";
      readonly datasetId: string | undefined;
      readonly state: ImportState;
      readonly reason: string;
    };

const nothing: ImportState = { share: 0, count: 0, rejectedCount: 0, rejected: [] };

/** Takes a file in while the dialog is open. */
export function useImport() {
  const [step, setStep] = useState<ImportStep>({ kind: "idle" });
  const running = useRef<AbortController>(undefined);
  const queryClient = useQueryClient();
  useEffect(() => () => running.current?.abort(), []);

  const start = async ({
    file,
    shape,
    into,
  }: ImportPlanned & { readonly file: File }): Promise<void> => {
    const control = new AbortController();
    running.current = control;
    let datasetId: string | undefined;
    let state = nothing;
    try {
      datasetId = "id" in into ? into.id : await createImportDataset(into.newName, file.name);
      const target = datasetId;
      const onState = (next: ImportState): void => {
        state = next;
        setStep({ kind: "running", datasetId: target, state });
      };
      onState(nothing);
      const signal = control.signal;
      state = await importFile({ file, shape, datasetId: target, signal, onState });
      setStep({ kind: "done", datasetId: target, state });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      setStep(
        control.signal.aborted && datasetId !== undefined
          ? { kind: "cancelled", datasetId, state }
          : { kind: "failed", datasetId, state, reason },
      );
    }
    await queryClient.invalidateQueries({ queryKey: ["datasets"] });
  };
  return { step, start, cancel: () => running.current?.abort() };
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
