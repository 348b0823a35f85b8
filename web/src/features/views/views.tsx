import { Button, Textarea, TextInput } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { readServerUrl } from "../../api/base-path.ts";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { useFieldFaults } from "../../components/dialog/field-fault.ts";
import { toPlainFilter } from "../../components/filter/plain-filter.ts";
import { createFilterCheckQuery } from "../../components/filter/queries.ts";
import type { FilterCheck } from "../../components/filter/queries.ts";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { ProjectPageHead } from "../projects/project-page-head.tsx";
import { createViewsQuery, deleteView, saveView } from "../runs/saved-views/queries.ts";
import {
  canOpen,
  describeConditions,
  describeList,
  toViewSearch,
} from "../runs/saved-views/view.ts";
import type { ListState, View } from "../runs/saved-views/view.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/views");

/** The dialog that is open; `view` is absent while a view is created. */
type OpenDialog =
  | { readonly kind: "save"; readonly view?: View }
  | { readonly kind: "delete"; readonly view: View };

/** The page `/o/{tenantId}/projects/p/{projectId}/views`, which lists the saved views of a project. */
export const Views = () => {
  const { tenantId, projectId } = route.useParams();
  const { filter, view: openViewId, ...list } = route.useSearch();
  const pages = useInfiniteQuery(createViewsQuery(projectId));
  const [dialog, setDialog] = useState<OpenDialog>();
  const { copy, copied } = useClipboard();
  const columns = useMemo(
    () =>
      toColumns(setDialog, ({ id }) =>
        copy(`${readServerUrl()}/o/${tenantId}/projects/p/${projectId}/views/${id}`),
      ),
    [copy, tenantId, projectId],
  );
  const renderLink = useMemo(
    () => createLinkRenderer({ tenantId, projectId }),
    [tenantId, projectId],
  );
  const close = (): void => setDialog(undefined);
  return (
    <div className="fill">
      <title>Saved views · Millrace</title>
      <ProjectPageHead
        address={{ tenantId, projectId }}
        title="Saved views"
        filter={filter}
        times={list}
      >
        {copied && <output className="quiet">Link copied</output>}
        <Button size="xs" onClick={() => setDialog({ kind: "save" })}>
          {filter === undefined ? "New view" : "Save current view"}
        </Button>
      </ProjectPageHead>
      <DataTable
        resourceName="saved views"
        rows={pages.data?.pages.flat()}
        getRowId={({ id }) => id}
        columns={columns}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        renderLink={renderLink}
        emptyState={
          <Empty title="No saved views yet">
            <p>
              A saved view is a named filter, with the time range and the order of the list.
              Everyone with access to the project can use it.
            </p>
            <p>Filter the runs of the project, and then open this page to save the filter.</p>
          </Empty>
        }
      />
      {dialog?.kind === "save" && (
        <ViewForm
          view={dialog.view}
          // A new view, or an edited view that is open in the run list, begins with the filter and state of the list.
          {...(dialog.view === undefined || dialog.view.id === openViewId
            ? { filter, list }
            : { filter: dialog.view.filter, list: dialog.view.list })}
          projectId={projectId}
          onClose={close}
        />
      )}
      {dialog?.kind === "delete" && (
        <DeleteView view={dialog.view} projectId={projectId} onClose={close} />
      )}
    </div>
  );
};

const toColumns = (
  openDialog: (dialog: OpenDialog) => void,
  copyLink: (view: View) => void,
): readonly Column<View>[] => [
  {
    id: "name",
    title: "Name",
    renderCell: (view) => (
      <>
        <bdi>{toVisibleText(view.name)}</bdi>
        {!canOpen(view) && (
          <span
            className="quiet"
            title="The run list can’t apply this view, because it has conditions on other runs of the trace."
          >
            {" "}
            (usable only from the SDK)
          </span>
        )}
      </>
    ),
    width: 140,
    grow: 2,
    isShownWhenNarrow: true,
  },
  {
    id: "filter",
    title: "Filter",
    renderCell: (view) => (
      <>
        <FilterFaultMark filter={view.filter} />
        <code>{toVisibleText(describeConditions(view))}</code>
        {describeList(view.list) !== "" && (
          <span className="quiet"> ({describeList(view.list)})</span>
        )}
      </>
    ),
    width: 200,
    grow: 4,
  },
  {
    id: "description",
    title: "Description",
    renderCell: ({ description }) => <span className="quiet">{toVisibleText(description)}</span>,
    width: 120,
    grow: 2,
  },
  {
    id: "modified",
    title: "Modified",
    renderCell: ({ modifiedMs }) => (modifiedMs === undefined ? "" : <Ago timeMs={modifiedMs} />),
    width: 96,
  },
  {
    id: "actions",
    title: "Actions",
    renderCell: (view) => (
      <ActionMenu
        label={`Actions on ${toVisibleText(view.name)}`}
        actions={[
          ...(canOpen(view) ? [{ label: "Copy link", onClick: () => copyLink(view) }] : []),
          { label: "Edit view", onClick: () => openDialog({ kind: "save", view }) },
          {
            label: "Delete view",
            onClick: () => openDialog({ kind: "delete", view }),
            isDestructive: true,
          },
        ]}
      />
    ),
    width: 72,
    isShownWhenNarrow: true,
  },
];

/** Marks a filter that the server no longer accepts, for example because an earlier version had other fields. */
const FilterFaultMark = ({ filter = "" }: { readonly filter: string | undefined }) => {
  const { data } = useQuery({
    ...createFilterCheckQuery("runs", filter),
    enabled: filter !== "",
  });
  return data?.fault === undefined ? null : (
    <span className="tag bad" title={data.fault.reason}>
      Invalid filter
    </span>
  );
};

/** Links a row to the runs of its view. A view that the run list can't apply has no link. */
const createLinkRenderer = (address: { readonly tenantId: string; readonly projectId: string }) =>
  function renderLink(view: View, { className, ...linkProps }: RowLinkProps) {
    return canOpen(view) ? (
      <Link
        to="/o/$tenantId/projects/p/$projectId"
        params={address}
        search={toViewSearch(view)}
        className={className}
        {...linkProps}
      />
    ) : (
      <span {...linkProps} />
    );
  };

/** The dialog that creates or edits a view. */
const ViewForm = ({
  view,
  filter: initialFilter = "",
  list,
  projectId,
  onClose,
}: {
  readonly view: View | undefined;
  /** The filter with which the form begins. */
  readonly filter: string | undefined;
  readonly list: ListState;
  readonly projectId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const { faults, submit } = useFieldFaults(["display_name", "description", "filter_string"]);
  const listText = describeList(list);
  const [name, setName] = useState(view?.name ?? "");
  const [description, setDescription] = useState(view?.description ?? "");
  const [filter, setFilter] = useState(() => toPlainFilter(initialFilter));
  return (
    <DialogForm
      title={view === undefined ? "New view" : "Edit view"}
      action={view === undefined ? "Create view" : "Save"}
      isDisabled={name.trim() === ""}
      onClose={onClose}
      onSubmit={async () =>
        submit(async () => {
          // Store the filter as functions, such as `gt(latency, "5s")`, because the run list can split only this form
          // into conditions.
          const { functions = filter, fault } =
            filter.trim() === ""
              ? noFilter
              : await queryClient.fetchQuery(createFilterCheckQuery("runs", filter));
          if (fault !== undefined) {
            throw new Error(`filter_string: ${fault.reason}`);
          }
          await saveView(projectId, view?.id, { name, description, filter: functions, list });
          await queryClient.invalidateQueries({ queryKey: ["views", projectId] });
        })
      }
    >
      <TextInput
        label="Name"
        required
        maxLength={200}
        error={faults.display_name}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <TextInput
        label="Description"
        error={faults.description}
        value={description}
        onChange={({ currentTarget }) => setDescription(currentTarget.value)}
      />
      <Textarea
        label="Filter"
        description="Use the syntax of the run list's filter, such as latency > 5s and status = error. Leave it empty to match all runs."
        rows={3}
        spellCheck={false}
        error={faults.filter_string}
        value={filter}
        onChange={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      <p className="quiet">
        {listText === ""
          ? "The view shows traces from any time, newest first."
          : `The view also saves these settings of the list: ${listText}.`}
      </p>
    </DialogForm>
  );
};

const noFilter: FilterCheck = { fault: undefined, functions: "" };

const DeleteView = ({
  view,
  projectId,
  onClose,
}: {
  readonly view: View;
  readonly projectId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  return (
    <Confirm
      title={`Delete ${toVisibleText(view.name)}?`}
      action="Delete view"
      onClose={onClose}
      onConfirm={async () => {
        await deleteView(projectId, view.id);
        await queryClient.invalidateQueries({ queryKey: ["views", projectId] });
      }}
    >
      <p>The view is deleted for everyone who uses this project. No runs are deleted.</p>
    </Confirm>
  );
};
