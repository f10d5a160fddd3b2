package auth

import (
	"context"
	"fmt"
	"net/http"
)

// guard calls a function of the application. A panic in it becomes an
// error. It panics again with http.ErrAbortHandler, with which a handler of net/http
// aborts a response.
func guard[P, R any](ctx context.Context, f func(context.Context, P) (R, error), p P) (result R, err error) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler { //nolint:errorlint // a sentinel that net/http compares in this way
				panic(v)
			}
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f(ctx, p)
}

// notify calls an event handler, if there is one. An error or a panic in it is
// logged and ignored otherwise.
func notify[E any, P requested[E]](ctx context.Context, e *engine, name string, handler func(context.Context, E) error, event E) {
	if handler == nil {
		return
	}
	P(&event).setRequest(requestOf(ctx))
	_, err := guard(ctx, func(ctx context.Context, event E) (struct{}, error) { return struct{}{}, handler(ctx, event) }, event)
	if err != nil {
		e.logError(ctx, &Error{Type: ErrEvent, Message: name, Cause: err})
	}
}
