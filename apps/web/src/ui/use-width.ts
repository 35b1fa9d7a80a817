import { type RefCallback, useCallback, useState } from "react";

/**
 * The current width of an element in pixels. It is measured before the first paint, so that nothing
 * shifts when the page appears.
 */
export function useWidth<Node extends HTMLElement>(): readonly [RefCallback<Node>, number] {
  const [width, setWidth] = useState(0);
  const ref = useCallback((node: Node | null) => {
    if (!node) return undefined;
    const measure = () => setWidth(node.getBoundingClientRect().width);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
