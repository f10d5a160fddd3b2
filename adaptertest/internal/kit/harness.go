package kit

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness is what clauses use of the harness of package adaptertest, whose comments explain
// the fields.
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

// OptionalFields are those that a store may lack.
var OptionalFields = []string{"Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"}

// Keeps reports whether the store has room for a field of OptionalFields.
func (d *Declarations) Keeps(field string) bool { return !slices.Contains(d.Lacks, field) }

// keeping returns the value of an optional field, or the zero value if the store lacks
// the field.
func keeping[T any](c *Context, field string, value T) (kept T) {
	if c.Harness().Declarations.Keeps(field) {
		kept = value
	}
	return kept
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
func (h *Harness) Timeout() time.Duration {
	if h.ClauseTimeout == 0 {
		return time.Minute
	}
	return h.ClauseTimeout
}

// Precision returns the declared precision of instants.
func (h *Harness) Precision() time.Duration {
	if h.Declarations.Precision > 0 {
		return h.Declarations.Precision
	}
	return time.Millisecond
}
