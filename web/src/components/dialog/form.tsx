import type { ReactNode } from "react";

/** What went wrong with a form, beside its button; announced when it appears. */
export const FormError = ({ error }: { readonly error?: string | undefined }) => (
  <p className="form-fault" role="alert" hidden={error === undefined}>
    {error}
  </p>
);

/** Fields under one title, with a sentence that explains them. */
export const FormSection = ({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}) => (
  <section className="form-section">
    <h2>{title}</h2>
    {about !== undefined && <p className="form-about">{about}</p>}
    {children}
  </section>
);
