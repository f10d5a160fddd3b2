// The value of this script describes the page: its title, the colour of its
// background, and its problems for people who touch, read, or use the keyboard.
(() => {
  const problems = []
  const name = (e) => `${e.localName} "${(e.innerText || e.name || "").trim().slice(0, 40)}"`

  const root = document.documentElement
  if (root.scrollWidth > root.clientWidth) problems.push(`the page is ${root.scrollWidth} pixels wide`)
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect()
    if (box.right > root.clientWidth + 1 || box.left < -1) problems.push(`${name(e)} sticks out`)
  }

  // WCAG 2.2 success criterion 2.5.5, in CSS pixels; links in a line of text are exempt.
  for (const e of document.querySelectorAll("button, a.button, a.site, input:not([type=hidden], [type=checkbox], [hidden])")) {
    const box = e.getBoundingClientRect()
    if (box.height < 44 || box.width < 44) problems.push(`${name(e)} is ${box.width} by ${box.height} pixels`)
  }

  // Success criterion 1.4.3.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
  const parts = (color) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    return canvas.getImageData(0, 0, 1, 1).data
  }
  const luminance = (color) => {
    const [r, g, b] = [...parts(color)].map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  // The canvas of the page when nothing paints it.
  const dark = getComputedStyle(root).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor
      if (parts(color)[3] == 255) return color
    }
    return dark ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)"
  }
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)]
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
  }
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some((n) => n.nodeType == Node.TEXT_NODE && n.data.trim()) && e.localName != "input") continue
    if (e.localName == "input" && (e.type == "hidden" || e.hidden)) continue
    for (const pseudo of e.placeholder ? [null, "::placeholder"] : [null]) {
      const ratio = contrast(getComputedStyle(e, pseudo).color, behind(e))
      if (ratio < 4.5) problems.push(`${name(e)} ${pseudo ?? ""} has a contrast of ${ratio.toFixed(2)}`)
    }
  }

  // Success criteria 1.4.11 and 2.4.7.
  for (const e of document.querySelectorAll("button, a, input:not([type=hidden], [hidden])")) {
    e.focus({ focusVisible: true })
    const style = getComputedStyle(e)
    if (style.outlineStyle == "none" || parseFloat(style.outlineWidth) < 1) problems.push(`${name(e)} does not show the focus`)
    else if (style.outlineStyle != "auto" && contrast(style.outlineColor, behind(e.parentElement)) < 3) {
      problems.push(`the mark of the focus of ${name(e)} is faint`)
    }
    e.blur()
  }
  for (const e of document.querySelectorAll("input:not([type=hidden], [hidden])")) {
    if (!e.labels.length) problems.push(`${name(e)} has no label`)
    if (e.type != "checkbox" && contrast(getComputedStyle(e).borderTopColor, behind(e.parentElement)) < 3) problems.push(`the border of ${name(e)} is faint`)
  }
  return { Title: document.title, Background: behind(document.body), Problems: problems }
})()
