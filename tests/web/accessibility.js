// Accessibility checks of the page as it is shown: names, roles, ids, headings and contrast. Returns the faults.

() => {
  const faults = [];
  const isShown = (element) =>
    element.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true }) &&
    !element.closest("[inert], .offscreen, .skip");
  const report = (fault, element) => faults.push(`${fault}: ${element.outerHTML.slice(0, 140)}`);

  const nameOf = (element) => {
    const labelled = (element.getAttribute("aria-labelledby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join(" ");
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(" ");
    const inside = [...element.querySelectorAll("[aria-label]")].map((each) => each.ariaLabel).join(" ");
    return (
      [element.ariaLabel, labelled, labels, element.textContent, inside].find((name) => name?.trim()) ?? ""
    );
  };
  const controls = "button, a[href], input, textarea, select, summary, dialog[open], nav, aside, progress";
  const roles = "[role=img], [role=region], [role=group], [role=listbox]";
  for (const element of document.querySelectorAll(`${controls}, ${roles}`)) {
    if (isShown(element) && !nameOf(element).trim()) report("no name", element);
  }
  for (const element of document.querySelectorAll("[id]")) {
    if (document.querySelectorAll(`[id="${element.id}"]`).length > 1) report("duplicate id", element);
  }
  for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      const id = element.getAttribute(name);
      if (id && !document.getElementById(id)) report(`${name} names no element`, element);
    }
  }
  for (const list of document.querySelectorAll("ul, ol, [role=list]")) {
    const isItem = (child) =>
      child.localName === "li" || child.role === "listitem" || child.role === "option";
    if (![...list.children].every(isItem)) report("a list with something else in it", list);
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("a page has one first heading");
  if (document.querySelectorAll("main").length !== 1) faults.push("a page has one main part");
  for (const element of document.querySelectorAll("[tabindex]")) {
    if (element.tabIndex > 0) report("a positive tabindex", element);
  }

  const channels = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return colour.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = ([r, g, b, a], [R, G, B]) => [
    r * a + R * (1 - a),
    g * a + G * (1 - a),
    b * a + B * (1 - a),
    1,
  ];
  const luminance = (colour) => {
    const [r, g, b] = colour
      .map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] >= 1 ? own : over(own, background(element.parentElement));
  };
  const opacity = (element) =>
    element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (
      !walker.currentNode.data.trim() ||
      seen.has(element) ||
      !isShown(element) ||
      element.closest("button:disabled, noscript, .copy")
    )
      continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const backdrop = background(element);
    const [r, g, b, a] = channels(style.color);
    const ink = over([r, g, b, a * opacity(element)], backdrop);
    const [bright, dark] = [luminance(ink), luminance(backdrop)].sort((one, other) => other - one);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const large =
      parseFloat(style.fontSize) >= 24 ||
      (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) report(`contrast ${ratio.toFixed(2)}`, element);
  }
  return faults;
};
