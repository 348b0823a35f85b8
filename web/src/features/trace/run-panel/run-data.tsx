import type { ReactNode } from "react";
import type { PayloadMode } from "../../../components/payload/payload-mode.ts";
import { Payload } from "../../../components/payload/payload.tsx";
import type { TraceRunDetails } from "../queries.ts";
import { ErrorChain } from "../../../components/payload/error-chain.tsx";

/** The error, inputs and outputs of a run. */
export const RunData = ({
  details: { error, inputs, outputs },
  payloadMode,
  onView,
  children,
}: {
  readonly details: Pick<TraceRunDetails, "error" | "inputs" | "outputs">;
  readonly payloadMode: PayloadMode | undefined;
  readonly onView: (mode: PayloadMode) => void;
  /** Shown before the inputs. */
  readonly children?: ReactNode;
}) => (
  <>
    {error !== undefined && <ErrorChain error={error} />}
    {children}
    <Payload label="Inputs" value={inputs} mode={payloadMode} onMode={onView} />
    <Payload label="Outputs" value={outputs} mode={payloadMode} onMode={onView} />
  </>
);
