import { Button } from "@mantine/core";
import type { UseMutationResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Loading } from "../page/states.tsx";
import { CopyText } from "../code/copy-text.tsx";
import { Dialog } from "./dialog.tsx";
import { FormError } from "./form.tsx";

/** Creates, shows and revokes the link with which anyone can read a resource. */
export const ShareLinkDialog = ({
  resource,
  explanation,
  link,
  error,
  change,
  children,
  onClose,
}: {
  /** What is shared, as part of the title: `run`, `trace` or `dataset`. */
  readonly resource: string;
  /** What can be read with the link, and what can't. */
  readonly explanation: string;
  /** `null` while the resource is not shared, `undefined` until the server has responded. */
  readonly link: string | null | undefined;
  readonly error?: Error | null;
  readonly change: Pick<
    UseMutationResult<unknown, Error, "share" | "unshare">,
    "error" | "isPending" | "mutate"
  >;
  /** Fields to choose what is shared, if there is a choice. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}) => {
  const isShared = typeof link === "string";
  const name = resource.charAt(0).toUpperCase() + resource.slice(1);
  return (
    <Dialog title={isShared ? `${name} shared by link` : `Share ${resource}`} onClose={onClose}>
      <div className="form">
        {link === undefined && (error ?? null) === null && <Loading resourceName="the link" />}
        {children}
        <p>{explanation}</p>
        {isShared && <CopyText label="Link" text={link} />}
        <FormError error={(error ?? change.error)?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button
            {...(isShared ? { variant: "default", color: "red" } : {})}
            loading={change.isPending}
            disabled={link === undefined}
            onClick={() => change.mutate(isShared ? "unshare" : "share")}
          >
            {isShared ? "Stop sharing" : "Create link"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
};
