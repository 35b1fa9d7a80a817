import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./table-footer.module.css";
import { type PageSize, pageSizes } from "./table-search.ts";

interface PageSizeSelectProps {
  readonly size: number;
  readonly onChange: (size: PageSize) => void;
}

export function PageSizeSelect({ size, onChange }: PageSizeSelectProps): ReactElement {
  return (
    <span className={classes.size}>
      Rows per page
      <Select
        w={72}
        aria-label="Rows per page"
        allowDeselect={false}
        data={pageSizes.map(String)}
        value={String(size)}
        onChange={(value) => {
          const next = pageSizes.find((pageSize) => String(pageSize) === value);
          if (next) onChange(next);
        }}
      />
    </span>
  );
}
