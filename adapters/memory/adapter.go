package memory

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter keeps records in memory. The zero value is not usable: call New. A
// copy of an Adapter is another handle on the same records.
//
// All methods are safe for concurrent use. Instants are kept to the nanosecond.
// A method checks its context once, at the beginning [CTX-01].
type Adapter struct{ *store }

var (
	_ adapter.Adapter              = Adapter{}
	_ adapter.Sweeper              = Adapter{}
	_ adapter.SignUps              = Adapter{}
	_ adapter.AccountLists         = Adapter{}
	_ adapter.SessionLists         = Adapter{}
	_ adapter.AuthenticatorEdits   = Adapter{}
	_ adapter.AuthenticatorBackups = Adapter{}
	_ adapter.TokenEdits           = Adapter{}
	_ adapter.Passwords            = Adapter{}
)

// New returns an adapter without records. It starts no goroutine.
func New() *Adapter {
	return &Adapter{&store{
		users:          make(map[string]*user),
		usersByEmail:   make(map[string]*user),
		accounts:       make(map[adapter.AccountKey]*account),
		sessions:       make(map[string]*session),
		tokens:         make(map[string]map[string]*adapter.VerificationToken),
		authenticators: make(map[string]*adapter.Authenticator),
	}}
}

// store holds the records of all handles. It shares nothing with the caller: it
// copies the text of its arguments and the records that it returns.
type store struct {
	mu sync.RWMutex // guards everything below, the records included

	users          map[string]*user
	usersByEmail   map[string]*user // the users who have an address
	accounts       map[adapter.AccountKey]*account
	sessions       map[string]*session
	tokens         map[string]map[string]*adapter.VerificationToken // by identifier and token
	authenticators map[string]*adapter.Authenticator
}

// user is a user with the records that are deleted together with the user.
type user struct {
	adapter.User
	accounts       set[*account]
	sessions       set[*session]
	authenticators []*adapter.Authenticator
	password       *adapter.Password // nil without one
	// gone says that the user is deleted and that the removal of the sessions
	// has begun. No method finds the user or the sessions any more.
	gone bool
}

type account struct {
	adapter.Account
	owner *user
	place
}

// session is smaller than an adapter.Session, because there may be very many
// sessions: it has no user ID, which the owner has.
type session struct {
	token   string
	expires instant
	owner   *user
	place
}

// step is the number of records that a method processes before it lets other
// calls in, if there may be very many records.
const step = 1000

// letIn gives up the lock for a moment when n, the number of records processed
// so far, is a multiple of step. The caller holds the lock before and after,
// and must expect that any record has changed.
func (s *store) letIn(n int) {
	if n%step == 0 {
		s.mu.Unlock()
		runtime.Gosched() // without this no other goroutine gets the lock on one processor
		s.mu.Lock()
	}
}

// begin returns an error if the context has ended before the method op begins.
func begin(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %s: %w", op, err)
	}
	return nil
}

// missing returns the error for a new record whose key field is empty.
// [INPUT-14]
func missing(op, field string) error {
	return fmt.Errorf("memory: %s: %s is empty", op, field)
}

func conflict(op, what string) error {
	return fmt.Errorf("memory: %s: %s is taken: %w", op, what, adapter.ErrConflict)
}

func notFound(op, what string) error {
	return fmt.Errorf("memory: %s: no such %s: %w", op, what, adapter.ErrNotFound)
}
