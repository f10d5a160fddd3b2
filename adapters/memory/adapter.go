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
// All methods are safe for concurrent use. Instants are kept to the
// nanosecond. The context is looked at once, when a method begins [CTX-01].
type Adapter struct{ *store }

var (
	_ adapter.Adapter            = Adapter{}
	_ adapter.Sweeper            = Adapter{}
	_ adapter.SignUps            = Adapter{}
	_ adapter.AccountLists       = Adapter{}
	_ adapter.SessionLists       = Adapter{}
	_ adapter.AuthenticatorEdits = Adapter{}
	_ adapter.TokenEdits         = Adapter{}
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

// store holds the records of all handles. What it holds is its own: text that
// comes in and pointers that go out are copied.
type store struct {
	mu sync.RWMutex // guards everything below, the records included

	users          map[string]*user
	usersByEmail   map[string]*user // users with an address
	accounts       map[adapter.AccountKey]*account
	sessions       map[string]*session
	tokens         map[string]map[string]*adapter.VerificationToken // by identifier and token
	authenticators map[string]*adapter.Authenticator
}

// user is a user with all that dies with them.
type user struct {
	adapter.User
	accounts       set[*account]
	sessions       set[*session]
	authenticators []*adapter.Authenticator
	// gone: the user is deleted, and the sessions are being removed. Nothing
	// finds them any more.
	gone bool
}

type account struct {
	adapter.Account
	owner *user
	place
}

// session is not an adapter.Session, because there are many: it leaves out the
// user's ID, which the owner has.
type session struct {
	token   string
	expires instant
	owner   *user
	place
}

// step is how many records a method looks at while it holds the lock, if there
// may be very many.
const step = 1000

// letIn lets other calls in after each thousandth of the records that n counts.
// The caller holds the lock, and must expect that anything has changed.
func (s *store) letIn(n int) {
	if n%step == 0 {
		s.mu.Unlock()
		runtime.Gosched() // with one processor nobody else gets the lock otherwise
		s.mu.Lock()
	}
}

// begin reports whether the method op may go on.
func begin(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %s: %w", op, err)
	}
	return nil
}

// missing is the error of a record that is created without part of its key.
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
