package pages

import "net/http"

// Refused is the page for a request that was refused with a status.
type Refused struct {
	Look   *Look
	Status int
	// SignInURL is the sign-in page, or empty.
	SignInURL string
}

// Render renders the page.
func (p Refused) Render() Rendered { return render(p.Look, "refused.html", p) }

// Title says what is wrong.
func (p Refused) Title() string {
	switch p.Status {
	case http.StatusTooManyRequests:
		return "Too many attempts"
	case http.StatusForbidden:
		return "Not from this site"
	case http.StatusInternalServerError:
		return "Server error"
	}
	return "Not possible"
}

// Text says what happened and what to do.
func (p Refused) Text() string {
	switch p.Status {
	case http.StatusTooManyRequests:
		return "There were too many attempts. Please try again later."
	case http.StatusForbidden:
		return "The request does not come from a page of this site. Please go back, reload the page, and try again."
	case http.StatusRequestEntityTooLarge:
		return "What was sent is too large. Please go back, and try again with less."
	case http.StatusMethodNotAllowed:
		return "This address can be opened, but nothing can be sent to it in this way. Please go back, and try again."
	case http.StatusInternalServerError:
		return "There is a problem with the server configuration. Check the server logs for more information."
	}
	return "Nothing can be done with this address. Please go back, and try again."
}
