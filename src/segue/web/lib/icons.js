// Icons on a grid of 24, drawn in the colour of the text around them.

const PATHS = {
  clock: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 20 20",
  stop: "M7 7h10v10H7Z",
  send: "M12 19V5M6 11l6-6 6 6",
  menu: "M4 7h16M4 12h16M4 17h16",
  panel: "M4 5h16v14H4ZM14.5 5v14",
  copy: "M9 9h10v11H9ZM15 9V4H5v11h4",
  check: "M5 12.5 10 17 19 7",
  close: "M6 6l12 12M18 6 6 18",
  edit: "M4.5 19.5l1-4L16 5l3 3L8.5 18.5ZM14 7l3 3",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 12.5h8L17 7",
  down: "M12 5v14M6 13l6 6 6-6",
  chat: "M4 5h16v11H10l-4 4v-4H4Z",
  leave: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
};

const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
