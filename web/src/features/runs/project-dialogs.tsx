import { Button, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import type { ProjectDetails } from "../projects/project.ts";
import { deleteProject, updateProject } from "../projects/queries.ts";

/** The dialog to edit a project's name, description and metadata. */
export const EditProject = ({
  project,
  onClose,
}: {
  readonly project: ProjectDetails;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState(project.name);
  const [description, setDescription] = useState(project.description);
  const [metadata, setMetadata] = useState(JSON.stringify(project.metadata, undefined, 2));
  const [error, setError] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      const parsedMetadata = JSON.parse(metadata) as unknown;
      await updateProject(project, { name: name.trim(), description, metadata: parsedMetadata });
      await queryClient.invalidateQueries({ queryKey: ["projects"] });
      onClose();
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <Dialog title="Edit project" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextInput
          label="Name"
          required
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Textarea
          label="Description"
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <Textarea
          label="Metadata (JSON object)"
          rows={6}
          value={metadata}
          onChange={({ currentTarget }) => setMetadata(currentTarget.value)}
        />
        <FormError error={error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit">Save</Button>
        </div>
      </form>
    </Dialog>
  );
};

/** The dialog to delete a project. The user confirms by typing its name. */
export const DeleteProject = ({
  project,
  onClose,
}: {
  readonly project: ProjectDetails;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <Confirm
      title="Delete project?"
      action="Delete project and runs"
      confirmationText={project.name}
      onClose={onClose}
      onConfirm={async () => {
        await deleteProject(project.id);
        await navigate({ to: "/" });
        await queryClient.invalidateQueries({ queryKey: ["projects"] });
      }}
    >
      <p>This deletes the project, all of its runs and their feedback. It can’t be undone.</p>
    </Confirm>
  );
};
