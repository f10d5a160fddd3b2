package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Unavailable is the error of a provider that can't be reached, or that says that
// it can't answer now. Nobody who runs the site can change that.
type Unavailable struct{ error }

// Unwrap returns the error.
func (u Unavailable) Unwrap() error { return u.error }

// forbidden is the error of an endpoint or a response that our rules refuse.
type forbidden struct{ error }

func (f forbidden) Unwrap() error { return f.error }

// outage makes an error of a request Unavailable, unless our own rules or the
// caller ended the request.
func outage(err error) error {
	if _, ours := errors.AsType[forbidden](err); ours || errors.Is(err, context.Canceled) {
		return err
	}
	return Unavailable{err}
}

// Outage makes an error of a function of the application Unavailable if it is one
// of the network.
func Outage(err error) error {
	if _, ok := errors.AsType[net.Error](err); !ok {
		return err
	}
	return outage(err)
}

// refusedBy is the error of a response with a status. The provider is not
// available if it says that it failed (RFC 9110 section 15.6) or has too much to
// do (RFC 6585 section 4).
func refusedBy(what string, status int) error {
	err := fmt.Errorf("%s: status %d", what, status)
	if unavailable(status) {
		return Unavailable{err}
	}
	return err
}

func unavailable(status int) bool { return status >= 500 || status == http.StatusTooManyRequests }
