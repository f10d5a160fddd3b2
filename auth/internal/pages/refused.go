package pages

import (
	"cmp"
	"net/http"
)

// Refused is the page for a request that was refused with a status.
type Refused struct {
	Look   *Look
	Status int
	// SignInURL is the sign-in page, or empty.
	SignInURL string
}

// Render renders the page.
func (p Refused) Render() Rendered { return render(p.Look, "refused.html", p) }

// refusals are the title and the text of a page by its status.
var refusals = map[int]struct{ title, text string }{
	http.StatusTooManyRequests: {"Too many attempts", "There were too many attempts. Please try again later."},
	http.StatusForbidden: {"Not from this site",
		"The request does not come from a page of this site. Please go back, reload the page, and try again."},
	http.StatusRequestEntityTooLarge: {"", "What was sent is too large. Please go back, and try again with less."},
	http.StatusMethodNotAllowed: {"",
		"This address can be opened, but nothing can be sent to it in this way. Please go back, and try again."},
	http.StatusInternalServerError: {"Server error",
		"There is a problem with the server configuration. Check the server logs for more information."},
}

// Title says what is wrong.
func (p Refused) Title() string { return cmp.Or(refusals[p.Status].title, "Not possible") }

// Text says what happened and what to do.
func (p Refused) Text() string {
	return cmp.Or(refusals[p.Status].text, "Nothing can be done with this address. Please go back, and try again.")
}
