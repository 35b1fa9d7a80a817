import { expect, test } from "vitest";
import { SizeClasses } from "./size-classes.ts";

test("finds an item that is at least half as large as the largest one", () => {
  const classes = new SizeClasses<string>();
  expect(classes.findLargest()).toBeUndefined();
  classes.move("small", { from: 0, to: 3 });
  classes.move("large", { from: 0, to: 4 });
  expect(classes.findLargest()).toBe("large");
  classes.move("small", { from: 3, to: 7 });
  expect(classes.findLargest()).toBe("large");
  classes.move("small", { from: 7, to: 8 });
  expect(classes.findLargest()).toBe("small");
  classes.move("small", { from: 8, to: 0 });
  classes.move("large", { from: 4, to: 1 });
  expect(classes.findLargest()).toBe("large");
  classes.move("large", { from: 1, to: 0 });
  expect(classes.findLargest()).toBeUndefined();
});

test("has a class for every size", () => {
  const classes = new SizeClasses<number>();
  for (let power = 0; power < 32; power += 1) {
    classes.move(power, { from: 0, to: 2 ** power });
    expect(classes.findLargest()).toBe(power);
  }
});

test("finds the item that has been in its class for the longest time, even if its size changes in the class", () => {
  const classes = new SizeClasses<string>();
  classes.move("first", { from: 0, to: 4 });
  classes.move("second", { from: 0, to: 7 });
  classes.move("first", { from: 4, to: 5 });
  expect(classes.findLargest()).toBe("first");
});
