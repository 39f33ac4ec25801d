// Every visible text on the page with the contrast between it and what it stands on, as WCAG 2 reckons it.
() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [red, green, blue] = channels(colour).map((part) => linear(part / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const shapeUnder = (text) => {
    if (text.closest(".badge")) return text.parentNode.querySelector("circle");
    if (!text.matches(".agent .number")) return null;
    return [...text.parentNode.querySelectorAll(".body")].find((shape) => shape.checkVisibility());
  };
  const ground = (one) => {
    const shape = shapeUnder(one);
    if (shape) return getComputedStyle(shape).fill;
    for (let box = one; box; box = box.parentElement) {
      const colour = getComputedStyle(box).backgroundColor;
      if ((channels(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const says = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.querySelectorAll("body *")]
    .filter((one) => says(one) && one.checkVisibility() && !one.matches("script, title, :disabled"))
    .map((one) => {
      const ink = getComputedStyle(one)[one.ownerSVGElement ? "fill" : "color"];
      const [low, high] = [light(ink), light(ground(one))].sort((left, right) => left - right);
      return [one.textContent.trim().slice(0, 40), (high + 0.05) / (low + 0.05)];
    });
}
