import { expect, seriousFaults, steadily, test } from "./fixtures";
import { MODEL } from "./server";

test("from the first look to a served answer, by keys", async ({ page, stocked }) => {
  await page.goto(stocked.link);
  await expect(page.getByRole("heading", { name: "Welcome to Tokbar" })).toBeVisible();
  expect(await seriousFaults(page), "step 1").toEqual([]);
  await page.getByRole("button", { name: "Continue" }).press("Enter");

  await expect(page.getByRole("heading", { name: "A model that fits this Mac" })).toBeFocused();
  const choice = page.getByRole("combobox", { name: "Another model" });
  await choice.selectOption(MODEL);
  await expect(page.getByText("already on this Mac")).toBeVisible();
  expect(await seriousFaults(page), "step 2").toEqual([]);
  await page.getByRole("button", { name: "Start" }).press("Enter");

  await expect(page.getByRole("heading", { name: "Ready" })).toBeVisible();
  await expect(page.getByText(/^http:\/\/localhost:\d+\/v1$/)).toBeVisible();
  expect(await seriousFaults(page), "step 3").toEqual([]);
  await page.getByRole("button", { name: "Open the chat" }).press("Enter");

  await steadily(page);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("What is the capital of France?");
  await message.press("Enter");
  const answer = page.getByRole("article").nth(1);
  await expect(answer).toContainText(/Paris/);
  await expect(answer).toContainText(/first token .* tokens/);

  await page.keyboard.press("Control+1");
  await expect(page.getByText(/of the prompt from cache/)).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Welcome to Tokbar" })).toHaveCount(0);
});
