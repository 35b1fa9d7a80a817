import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { PageHeader } from "../ui/page-header.tsx";

export function NotFoundPage(): ReactElement {
  return (
    <>
      <PageHeader
        title="Page not found"
        explanation="There is no page at this URL. It may have been moved, or the link is incomplete."
      />
      <Button variant="default" renderRoot={(props) => <Link {...props} to="/" />}>
        Go to the overview
      </Button>
    </>
  );
}
