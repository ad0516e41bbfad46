// Light or dark: as the system says, unless another one was chosen. early.js applies the choice before the page.

const STORED = "segue.theme";
export const THEMES = ["system", "light", "dark"];

export const theme = () => localStorage.getItem(STORED) ?? "system";

export function changeTheme(to) {
  if (to === "system") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, to);
  document.documentElement.dataset.theme = to;
}
