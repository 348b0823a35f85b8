import type { ReactNode } from "react";

/** Matches the HTTP status in front of an error message, which does not help the person who fills in the form. */
const statusPrefix = /^422: /;

/** The error of a form, next to its buttons. Screen readers announce it when it appears. */
export const FormError = ({ error }: { readonly error?: string | undefined }) => (
  <p className="form-fault" role="alert" hidden={error === undefined}>
    {error?.replace(statusPrefix, "")}
  </p>
);

/** A group of fields with a title and a description. */
export const FormSection = ({
  title,
  description,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
}) => (
  <section className="form-section">
    <h2>{title}</h2>
    {description !== undefined && <p className="form-about">{description}</p>}
    {children}
  </section>
);
