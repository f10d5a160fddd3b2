for (const label of document.querySelectorAll("label[data-show]")) {
  const box = label.querySelector("input")
  const form = label.closest("form")
  const secrets = form.querySelectorAll("input[type=password]")
  const show = (on) => { for (const input of secrets) input.type = on ? "text" : "password" }
  label.hidden = box.checked = false
  box.addEventListener("change", () => show(box.checked))
  form.addEventListener("submit", () => show(box.checked = false)) // browsers remember what stands in other fields
}
