package mutants

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

//go:generate go run ../../../auth/adapter/internal/methods -form mutants -without EmailRequirer with_methods.go

// base is an adapter to break.
type base interface {
	contract

	// common is what all handles on the records share.
	common() *sync.Map
	// now is the instant that the store goes by.
	now() time.Time
	// peek reads a verification token without using it, and due counts what has expired.
	peek(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error)
	due(context.Context, time.Time) (adapter.Swept, error)
}

// with is an adapter with some methods replaced.
type with struct {
	base
	missing []string
	replacements
}

func (w *with) Missing() []string { return w.missing }

// or returns the replacement if there is one, else the original method.
func or[F any](replacement, method F) F {
	if reflect.ValueOf(replacement).IsNil() {
		return method
	}
	return replacement
}
