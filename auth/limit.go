package auth

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Attempt is the argument of Config.Limit. It describes an attempt to sign in
// before it is made. It holds secrets; logs show it without them.
type Attempt struct {
	// Provider is the ID of the provider.
	Provider string
	// Type is TypeCredentials, TypeEmail or TypeWebAuthn.
	Type ProviderType
	// Identifier is the address to which a mail is to be sent, for TypeEmail; it
	// is empty for the other types.
	Identifier string
	// Form holds the submitted fields: the credentials, such as the name of a
	// user, or the fields of a request for the options of a passkey ceremony, such
	// as an address.
	Form Form
	// Request is the request, with the address of the client. Its body can be
	// read.
	Request *http.Request
}

// LogValue keeps what was submitted out of logs.
func (a Attempt) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", a.Provider), slog.String("type", string(a.Type)))
}

// TooManyAttempts is the error by which Config.Limit says when the next attempt
// may be made. The client is told RetryAfter in whole seconds, rounded up; zero
// means one minute.
type TooManyAttempts struct{ RetryAfter time.Duration }

// Error says that there were too many attempts.
func (t *TooManyAttempts) Error() string {
	return "too many attempts; the next may be made after " + t.RetryAfter.String()
}

// defaultRetryAfter is the time that a client is told to wait if Config.Limit
// does not give one.
const defaultRetryAfter = time.Minute

// limit calls Config.Limit. It does so before anything is looked up, so that
// the answer is the same for known and for unknown users.
func (e *engine) limit(ctx context.Context, r *request, a Attempt) error {
	if e.config.Limit == nil {
		return nil
	}
	a.Request = r.withBody(ctx)
	_, err := guard(ctx, func(ctx context.Context, a Attempt) (struct{}, error) { return struct{}{}, e.config.Limit(ctx, a) }, a)
	if err == nil {
		return nil
	}
	_, limited := errors.AsType[*TooManyAttempts](err)
	return &Error{Type: ErrTooManyAttempts, Message: "provider " + a.Provider, Cause: err, client: limited}
}

// tooManyAttempts is the result for a sign-in that Config.Limit refused.
func tooManyAttempts(hr *http.Request, err error) *Result {
	after := defaultRetryAfter
	if t, ok := errors.AsType[*TooManyAttempts](err); ok && t.RetryAfter > 0 {
		after = t.RetryAfter
	}
	const message = "There were too many attempts. Try again later."
	result := &Result{Status: http.StatusTooManyRequests, Header: uncachedJSONHeader(), Body: []byte(`{"message":"` + message + `"}`)}
	if !AsksForJSON(hr) {
		result.Header["Content-Type"], result.Body = []string{"text/plain; charset=utf-8"}, []byte(message+"\n")
	}
	result.Header["Retry-After"] = []string{strconv.FormatInt(int64(math.Ceil(after.Seconds())), 10)}
	return result
}
