import { useQueryClient } from "@tanstack/react-query";
import { createExample } from "./queries.ts";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { ExampleEditor } from "./example-editor.tsx";

const blank = { inputs: "{\n  \n}", outputs: "", metadata: "", splits: [] };

/** Adds an example that is written here. */
export const NewExample = ({
  datasetId,
  onClose,
}: {
  readonly datasetId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  return (
    <Dialog title="Add an example" width={680} onClose={onClose}>
      <ExampleEditor
        datasetId={datasetId}
        texts={blank}
        action="Add"
        onCancel={onClose}
        onSave={async (change) => {
          await createExample(datasetId, change);
          await queryClient.invalidateQueries({ queryKey: ["datasets"] });
          onClose();
        }}
      />
    </Dialog>
  );
};
