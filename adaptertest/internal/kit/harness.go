package kit

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness is what clauses use of the harness of package adaptertest, whose comments explain the fields.
type Harness struct {
	New           func(t testing.TB) adapter.Adapter
	SharedStore   bool
	Second        func(t testing.TB, a adapter.Adapter) adapter.Adapter
	Close         func(a adapter.Adapter) error
	Reopen        func(t testing.TB, a adapter.Adapter) adapter.Adapter
	Namespace     func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error)
	Clock         func(a adapter.Adapter) HarnessClock
	Sweep         func(ctx context.Context, a adapter.Adapter, now time.Time) error
	Faults        func(a adapter.Adapter) fault.Control
	Corrupt       func(t testing.TB, a adapter.Adapter, r Record) (repair func())
	Inspect       func(ctx context.Context, a adapter.Adapter, r Record) (bool, error)
	Single        func(t testing.TB) adapter.Adapter
	Limited       func(t testing.TB) adapter.Adapter
	Pooled        func(t testing.TB) adapter.Adapter
	Foreign       func(t testing.TB) []Foreign
	Settings      func(t testing.TB, a adapter.Adapter) []adapter.Adapter
	ReadOnly      func(t testing.TB) (a adapter.Adapter, demote func())
	Quoting       func(t testing.TB) (a adapter.Adapter, refuse func())
	Reduced       func(t testing.TB) []Reduced
	Refusing      func(t testing.TB) (a adapter.Adapter, refuse func())
	Connections   func(a adapter.Adapter) int
	CheckHandle   func(ctx context.Context, a adapter.Adapter) error
	NewID         func() string
	InternalNames []string
	Declarations  Declarations
	ClauseTimeout time.Duration
}

// HarnessClock is a clock that the suite can move.
type HarnessClock interface {
	Now() time.Time
	Advance(d time.Duration)
}

// Declarations are those of package adaptertest.
type Declarations struct {
	EmailFoldsCase bool
	AssignsIDs     bool
	Volatile       string
	Timeless       bool
	NoPooler       string
	Scans          string
	Precision      time.Duration
	EventualReads  time.Duration
	Lacks          []string
	NoSite         map[string]string
}

// Foreign is that of package adaptertest.
type Foreign struct {
	Name    string
	Open    func(t testing.TB) (adapter.Adapter, error)
	User    adapter.User
	Account adapter.AccountKey
	Session adapter.Session
}

// Reduced is that of package adaptertest.
type Reduced struct {
	Right   string
	Open    func(t testing.TB) adapter.Adapter
	Prepare func(ctx context.Context, a adapter.Adapter) error
	Witness func(t testing.TB) adapter.Adapter
}

// OptionalFields are those that a store may lack.
var OptionalFields = []string{"Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"}

// Keeps reports whether the store has room for a field of OptionalFields.
func (d *Declarations) Keeps(field string) bool { return !slices.Contains(d.Lacks, field) }

// keeping returns the value of an optional field, or the zero value if the store lacks the field.
func keeping[T any](c *Context, field string, value T) (kept T) {
	if c.Harness().Declarations.Keeps(field) {
		kept = value
	}
	return kept
}

// Remote is an adapter in another program.
type Remote interface {
	// Unverifiable says why the clause can't be verified through the program, or returns "".
	Unverifiable(clause string) string
	// Fault says what went wrong with the program since the adapter was opened, or
	// returns "". It is no breach of the adapter.
	Fault() string
	// Tasks returns how many tasks the handle and its calls have started that have not ended. The handle may be closed.
	Tasks(ctx context.Context) (int, error)
}

// Kind is a kind of record.
type Kind string

// The kinds of records.
const (
	UserRecord              Kind = "user"
	AccountRecord           Kind = "account"
	SessionRecord           Kind = "session"
	VerificationTokenRecord Kind = "verification token"
	AuthenticatorRecord     Kind = "authenticator"
)

// Record names one stored record.
type Record struct {
	Kind Kind
	// Key is the user ID, the session token or the credential ID. Accounts are
	// named by Account, verification tokens by Token.
	Key     string
	Account adapter.AccountKey
	Token   adapter.VerificationTokenKey
}

// Ability is a thing that a harness can do besides opening an adapter.
type Ability string

// The abilities, named for the fields of Harness.
const (
	AbilitySecond      Ability = "Second"
	AbilityClose       Ability = "Close"
	AbilityReopen      Ability = "Reopen"
	AbilityNamespace   Ability = "Namespace"
	AbilityClock       Ability = "Clock"
	AbilitySweep       Ability = "Sweep"
	AbilityFaults      Ability = "Faults"
	AbilityCorrupt     Ability = "Corrupt"
	AbilityInspect     Ability = "Inspect"
	AbilitySingle      Ability = "Single"
	AbilityLimited     Ability = "Limited"
	AbilityPooled      Ability = "Pooled"
	AbilityConnections Ability = "Connections"
	AbilityCheckHandle Ability = "CheckHandle"
	AbilityForeign     Ability = "Foreign"
	AbilitySettings    Ability = "Settings"
	AbilityReadOnly    Ability = "ReadOnly"
	AbilityQuoting     Ability = "Quoting"
	AbilityReduced     Ability = "Reduced"
	AbilityRefusing    Ability = "Refusing"
	// AbilitySubprocess needs Run.Again, which is no field of the harness.
	AbilitySubprocess Ability = "Subprocess"
)

// has reports whether the field of the ability is set. Context.Has decides
// about abilities that depend on more than the harness.
func (h *Harness) has(a Ability) bool {
	field := reflect.ValueOf(h).Elem().FieldByName(string(a))
	return field.IsValid() && !field.IsZero()
}

// Timeout returns the time-out of a clause.
func (h *Harness) Timeout() time.Duration { return cmp.Or(h.ClauseTimeout, time.Minute) }

// Precision returns the declared precision of instants.
func (h *Harness) Precision() time.Duration {
	return cmp.Or(h.Declarations.Precision, time.Millisecond)
}
