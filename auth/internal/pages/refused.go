package pages

import (
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Refused is the page for a request that was refused with a status.
type Refused struct {
	Look   *Look
	Status int
	// SignInURL is the sign-in page, or empty.
	SignInURL string
	// Wait is how long the person has to wait, or zero.
	Wait time.Duration
}

// Render renders the page.
func (p Refused) Render() Rendered { return render(p.Look, "refused.html", p) }

// Title says what is wrong.
func (p Refused) Title() string {
	t := &p.Look.T.Refused
	switch p.Status {
	case http.StatusTooManyRequests:
		return t.TooManyTitle
	case http.StatusForbidden:
		return t.ForeignTitle
	case http.StatusServiceUnavailable:
		return p.Look.T.Failure.StoreTitle
	case http.StatusInternalServerError:
		return p.Look.T.Failure.ServerTitle
	}
	return t.Title
}

// Text says what happened and what to do.
func (p Refused) Text() string { return refusedText(p.Look.T, p.Status) }

// RefusedInEnglish is the text of the page for developers.
func RefusedInEnglish(status int) string {
	t := texts.English()
	return refusedText(&t, status)
}

func refusedText(all *texts.Texts, status int) string {
	t := &all.Refused
	switch status {
	case http.StatusTooManyRequests:
		return t.TooMany
	case http.StatusForbidden:
		return t.Foreign
	case http.StatusServiceUnavailable:
		return t.Busy
	case http.StatusRequestEntityTooLarge:
		return t.TooLarge
	case http.StatusMethodNotAllowed:
		return t.CannotSend
	case http.StatusInternalServerError:
		return all.Failure.Server
	}
	return t.Impossible
}

// Waiting says how long to wait, or "" if that is not known.
func (p Refused) Waiting() string {
	wait := p.Wait
	if wait <= 0 {
		return ""
	}
	unit := time.Second
	if wait > 2*time.Minute {
		unit = time.Minute
	}
	return p.Look.T.Span(p.Look.T.Refused.Wait, (wait + unit - 1).Truncate(unit))
}
