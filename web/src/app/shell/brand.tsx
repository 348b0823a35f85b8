import { Link } from "@tanstack/react-router";

export const Brand = () => (
  <Link to="/" className="brand" aria-label="Millrace, home">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M6 10h14M6 16h20M12 22h14" />
    </svg>
    <span>Millrace</span>
  </Link>
);
