const { onSession, signIn, signOut, update } = await import(document.querySelector("#app").dataset.module);

const show = (id, text) => (document.querySelector(id).textContent = text);

onSession(({ session, status, error }) => {
  show("#who", status === "loading" ? "…" : session ? `Signed in as ${session.user.name}` : "Nobody is signed in");
  show("#problem", error ? "The server can't be reached." : "");
}, { interval: 60 });

document.querySelector("#signin").addEventListener("submit", async (event) => {
  event.preventDefault();
  const outcome = await signIn("credentials", { ...Object.fromEntries(new FormData(event.target)), redirect: false });
  if (outcome.error) show("#problem", outcome.code === "locked" ? "This account is locked." : "Name or password is wrong.");
});
document.querySelector("#rename").addEventListener("click", () => update({ name: "Augusta" }));
document.querySelector("#signout").addEventListener("click", () => signOut({ redirect: false }));
